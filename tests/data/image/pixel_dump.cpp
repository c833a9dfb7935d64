// Decoded bytes and finished pixels of many files over a pipe, for tools/parity/pixel_parity.py.
//
//   pixel_dump decode [upright]                    reads one path a line from standard input
//   pixel_dump transform SIDE SEMANTICS [TYPE]     SEMANTICS: tv-float-aa, pil-u8 ...; TYPE: f32
//                                                  (default), bf16 or u8; through prepare_picture
//
// Each path is answered by a line "ok WIDTH HEIGHT FORMAT MODE ORIENTATION" and the bytes
// (height * width * 3, or 3 * SIDE * SIDE values of TYPE), or by a line "error MESSAGE".

#include <cstdio>
#include <exception>
#include <iostream>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "cantilever/base/error.h"
#include "cantilever/base/file.h"
#include "cantilever/data/image/decode.h"
#include "cantilever/data/image/transform.h"

namespace {

using namespace cantilever;  // NOLINT(google-build-using-namespace)

std::string one_line(std::string text) {
  for (char& c : text) {
    if (c == '\n' || c == '\r') c = ' ';
  }
  return text;
}

void answer(const ImageInfo& info, const void* payload, size_t bytes) {
  std::cout << "ok " << info.width << ' ' << info.height << ' ' << info.format << ' ' << info.mode
            << ' ' << info.exif_orientation << '\n';
  std::cout.write(static_cast<const char*>(payload), static_cast<std::streamsize>(bytes));
}

void answer_decoded(std::span<const std::byte> encoded, bool upright) {
  DecodeOptions options;
  options.apply_exif_orientation = upright;
  const DecodedImage image = decode_image(encoded, options);
  answer(
      {image.width, image.height, image.format.c_str(), image.mode.c_str(), image.exif_orientation},
      image.pixels.data(), image.pixels.size());
}

// prepare_picture() into memory of its own.
class Transformer {
 public:
  explicit Transformer(const std::vector<std::string>& arguments) {
    options_.side = std::stoi(arguments[1]);
    options_.semantics = parse_pixel_semantics(arguments[2]);
    if (arguments.size() > 3) type_ = parse_pixel_type(arguments[3]);
    const auto side = static_cast<size_t>(options_.side);
    out_.resize(side * side * 3 * pixel_bytes(type_));
  }

  void answer_transformed(std::span<const std::byte> encoded) {
    prepare_picture(encoded, {}, options_, nullptr, scratch_, {type_, out_.data()});
    answer(decoder_.open(encoded), out_.data(), out_.size());
  }

 private:
  TransformOptions options_;
  TransformScratch scratch_;
  ImageDecoder decoder_;
  PixelType type_ = PixelType::kFloat32;
  std::vector<std::byte> out_;
};

int run(const std::vector<std::string>& arguments) {
  const bool transforms =
      (arguments.size() == 3 || arguments.size() == 4) && arguments[0] == "transform";
  CANTILEVER_CHECK(transforms || (!arguments.empty() && arguments[0] == "decode"),
                   "usage: pixel_dump decode [upright] | transform SIDE SEMANTICS [TYPE]");
  std::unique_ptr<Transformer> transformer;
  if (transforms) transformer = std::make_unique<Transformer>(arguments);
  std::string path;
  while (std::getline(std::cin, path)) {
    try {
      const MappedFile file(path);
      if (transforms) {
        transformer->answer_transformed(file.bytes());
      } else {
        answer_decoded(file.bytes(), arguments.size() == 2);
      }
    } catch (const Error& error) {
      std::cout << "error " << one_line(error.what()) << '\n';
    }
    std::cout.flush();
  }
  return std::cout ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return run({argv + 1, argv + argc});
  } catch (const std::exception& error) {
    std::cerr << error.what() << '\n';
    return 1;
  }
}
