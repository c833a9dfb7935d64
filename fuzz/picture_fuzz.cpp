// Any picture: the decoder that gives rows, the one that gives a picture, and the pass to the
// finished square. Both decoders must agree on pixels and on refusals.

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <string>
#include <vector>

#include "cantilever/base/error.h"
#include "cantilever/data/image/transform.h"
#include "fuzz/fuzz.h"

namespace cantilever::fuzz {
namespace {

// Small enough for thousands of pictures a second, large enough for every code path.
const DecodeOptions kOptions = {.apply_exif_orientation = true, .max_pixels = 1 << 18};

[[noreturn]] void disagree(const std::string& what) {
  std::fprintf(stderr, "fuzz: the two decoders disagree: %s\n", what.c_str());
  std::abort();
}

// Rows of the whole picture, or the reason for refusing it.
std::optional<std::string> read_rows(ImageDecoder& decoder, std::span<const std::byte> encoded,
                                     const DecodeOptions& options, const DecodedImage* whole) {
  try {
    const ImageInfo info = decoder.open(encoded, options);
    if (whole != nullptr && (info.width != whole->width || info.height != whole->height)) {
      disagree("size");
    }
    const size_t row_bytes = static_cast<size_t>(info.width) * 3;
    for (int row = 0; row < info.height;) {
      const RowBlock block = decoder.next_rows();
      if (block.first != row || block.count <= 0) disagree("order of rows");
      for (int i = 0; whole != nullptr && i < block.count; ++i) {
        const size_t at = static_cast<size_t>(row + i) * row_bytes;
        if (std::memcmp(block.pixels + i * block.stride, whole->pixels.data() + at, row_bytes) !=
            0) {
          disagree(concat("pixels of row ", row + i));
        }
      }
      row += block.count;
    }
    decoder.finish();
  } catch (const Error& error) {
    return error.what();
  }
  return std::nullopt;
}

void compare_decoders(std::span<const std::byte> encoded) {
  static ImageDecoder decoder;
  DecodeOptions options = kOptions;
  options.apply_exif_orientation = false;
  std::optional<DecodedImage> whole;
  std::string reason;
  try {
    whole = decode_image(encoded, options);
  } catch (const Error& error) {
    reason = error.what();
  }
  const std::optional<std::string> refused =
      read_rows(decoder, encoded, options, whole ? &*whole : nullptr);
  if (refused.has_value() == whole.has_value()) {
    disagree(concat("one refuses: ", refused.value_or(reason)));
  }
  if (refused && *refused != reason) disagree(concat(*refused, " / ", reason));
}

void try_picture(const uint8_t* data, size_t size) {
  // A copy of exactly this size, so that a byte read behind the end is found.
  const std::vector<uint8_t> copy(data, data + size);
  const auto encoded = bytes_of(copy.data(), copy.size());
  expect_error_or_success([&] { compare_decoders(encoded); });
  static TransformScratch scratch;
  static std::vector<float> pixels(size_t{3} * 24 * 24);
  for (const PixelSemantics semantics : {PixelSemantics::kTvFloatAa, PixelSemantics::kTvU8}) {
    TransformOptions options;
    options.side = 24;
    options.semantics = semantics;
    expect_error_or_success([&] {
      prepare_picture(encoded, kOptions, options, nullptr, scratch,
                      {PixelType::kFloat32, pixels.data()});
    });
  }
}

}  // namespace
}  // namespace cantilever::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  cantilever::fuzz::try_picture(data, size);
  return 0;
}
