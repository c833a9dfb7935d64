#include <algorithm>
#include <string_view>
#include <vector>

#include "cantilever/base/error.h"
#include "cantilever/data/image/bmp.h"
#include "cantilever/data/image/ico.h"
#include "cantilever/data/image/png.h"

namespace cantilever {
namespace {

using std::string_view_literals::operator""sv;

uint32_t number(std::string_view bytes, size_t at, size_t length) {
  uint32_t value = 0;
  for (size_t i = length; i-- > 0;) {
    value = value << 8U | static_cast<unsigned char>(bytes[at + i]);
  }
  return value;
}

struct Entry {
  int area = 0;
  int depth = 0;  // for the choice only
  uint32_t bits = 0;
  size_t size = 0;
  size_t offset = 0;
};

Entry read_entry(std::string_view bytes) {
  const auto side = [&](size_t at) {
    const auto value = static_cast<int>(number(bytes, at, 1));
    return value == 0 ? 256 : value;
  };
  Entry entry;
  entry.area = side(0) * side(1);
  entry.bits = number(bytes, 6, 2);
  entry.size = number(bytes, 8, 4);
  entry.offset = number(bytes, 12, 4);
  const uint32_t colours = number(bytes, 2, 1);
  int colour_bits = 0;
  while ((1U << colour_bits) < colours) ++colour_bits;
  entry.depth = entry.bits != 0 ? static_cast<int>(entry.bits) : colour_bits;
  if (entry.depth == 0) entry.depth = 256;
  return entry;
}

Entry choose_entry(std::string_view file) {
  CANTILEVER_CHECK(file.size() >= 6, "ICO: truncated in its header");
  const size_t count = number(file, 4, 2);
  CANTILEVER_CHECK(count > 0, "ICO: it has no picture");
  CANTILEVER_CHECK((file.size() - 6) / 16 >= count, "ICO: truncated in the list of its ", count,
                   " pictures");
  Entry best = read_entry(file.substr(6, 16));
  for (size_t i = 1; i < count; ++i) {
    const Entry entry = read_entry(file.substr(6 + i * 16, 16));
    if (entry.area > best.area || (entry.area == best.area && entry.depth < best.depth)) {
      best = entry;
    }
  }
  return best;
}

// Pillow reads the mask before it drops it, and refuses the picture where it is cut short.
void check_mask(const Entry& entry, const DecodedImage& image, size_t data_offset,
                size_t file_bytes) {
  const auto width = static_cast<size_t>(image.width);
  const auto height = static_cast<size_t>(image.height);
  size_t at = data_offset;
  size_t needed = width * height * 4;
  if (entry.bits != 32) {
    const size_t row = (width + 31) / 32 * 4;
    const size_t end = entry.offset + entry.size;
    CANTILEVER_CHECK(end >= row * height, "ICO: broken; its mask does not fit before byte ", end);
    at = end - row * height;
    needed = row * (height - 1) + (width + 7) / 8;
  }
  CANTILEVER_CHECK(at <= file_bytes && file_bytes - at >= needed,
                   "ICO: truncated; the mask of its picture ends at byte ", at + needed,
                   ", the file has ", file_bytes);
}

}  // namespace

DecodedImage decode_ico(std::span<const std::byte> encoded, const DecodeOptions& options) {
  const std::string_view file = {reinterpret_cast<const char*>(encoded.data()), encoded.size()};
  const Entry entry = choose_entry(file);
  CANTILEVER_CHECK(entry.offset < file.size(), "ICO: truncated; its picture begins at byte ",
                   entry.offset, ", the file has ", file.size());
  DecodedImage image;
  if (file.substr(entry.offset).starts_with("\x89PNG\r\n\x1a\n"sv)) {
    image = decode_png(encoded.subspan(entry.offset), options);
    image.exif_orientation = 1;
  } else {
    size_t data_offset = 0;
    image = decode_dib(encoded, options, {entry.offset, true}, &data_offset);
    check_mask(entry, image, data_offset, file.size());
    image.mode = "RGBA";
  }
  image.format = "ICO";
  return image;
}

}  // namespace cantilever
