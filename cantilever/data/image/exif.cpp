#include "cantilever/data/image/exif.h"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

namespace cantilever {
namespace {

using std::string_view_literals::operator""sv;

constexpr uint32_t kOrientationTag = 274;

// Little- or big-endian numbers of a TIFF block; nothing where the block ends.
class TiffBytes {
 public:
  TiffBytes(std::string_view bytes, bool little_endian)
      : bytes_(bytes), little_endian_(little_endian) {}

  std::optional<uint64_t> number(size_t offset, size_t length) const {
    if (offset > bytes_.size() || bytes_.size() - offset < length) return std::nullopt;
    uint64_t value = 0;
    for (size_t i = 0; i < length; ++i) {
      const size_t at = little_endian_ ? offset + length - 1 - i : offset + i;
      value = value << 8U | static_cast<unsigned char>(bytes_[at]);
    }
    return value;
  }

 private:
  std::string_view bytes_;
  bool little_endian_;
};

// Bytes a value of a TIFF type, 0 for types that Pillow passes over.
size_t type_size(uint64_t type) {
  constexpr std::array<uint8_t, 17> kSizes = {0, 1, 1, 2, 4, 8, 1, 1, 2, 4, 8, 4, 8, 4, 0, 0, 8};
  return type < kSizes.size() ? kSizes[type] : 0;
}

bool is_integer_type(uint64_t type) {
  return type == 3 || type == 4 || type == 6 || type == 8 || type == 9 || type == 13 || type == 16;
}

int valid_orientation(uint64_t value) {
  return value >= 1 && value <= 8 ? static_cast<int>(value) : 0;
}

std::optional<bool> is_little_endian_tiff(std::string_view block) {
  // The last two are not TIFF, but Pillow reads them.
  if (block.starts_with("II*\0"sv) || block.starts_with("II\0*"sv)) return true;
  if (block.starts_with("MM\0*"sv) || block.starts_with("MM*\0"sv)) return false;
  return std::nullopt;
}

}  // namespace

int exif_orientation(std::string_view exif) {
  for (int i = 0; i < 2 && exif.starts_with("Exif\0\0"sv); ++i) exif.remove_prefix(6);
  const std::optional<bool> little_endian = is_little_endian_tiff(exif);
  if (!little_endian) return 0;
  const TiffBytes tiff(exif, *little_endian);
  const auto directory = tiff.number(4, 4);
  if (!directory) return 0;
  const auto entries = tiff.number(*directory, 2);
  if (!entries) return 0;
  uint64_t data_size = 0;
  for (uint64_t i = 0; i < *entries; ++i) {
    const uint64_t entry = *directory + 2 + i * 12;
    const auto tag = tiff.number(entry, 2);
    const auto type = tiff.number(entry + 2, 2);
    const auto count = tiff.number(entry + 4, 4);
    const auto inlined = tiff.number(entry + 8, 4);
    if (!tag || !type || !count || !inlined) break;  // the directory is cut short
    const uint64_t size = type_size(*type) * *count;
    if (size == 0) continue;
    const bool is_far = size > 4;
    if (is_far) {
      // Data in all that the block cannot hold is passed over; data outside of the block ends the
      // directory, whatever comes behind it.
      data_size += size;
      if (data_size > exif.size()) continue;
      if (*inlined > exif.size() || exif.size() - *inlined < size) break;
    }
    if (*tag != kOrientationTag) continue;
    // The first one counts. One that says nothing keeps XMP from being asked.
    const size_t at = is_far ? *inlined : entry + 8;
    const auto value = is_integer_type(*type) ? tiff.number(at, type_size(*type)) : std::nullopt;
    const int orientation = value ? valid_orientation(*value) : 0;
    return orientation == 0 ? 1 : orientation;
  }
  return 0;
}

int xmp_orientation(std::string_view xmp) {
  constexpr std::string_view kKey = "tiff:Orientation";
  for (size_t at = xmp.find(kKey); at != std::string_view::npos; at = xmp.find(kKey, at + 1)) {
    std::string_view rest = xmp.substr(at + kKey.size());
    if (rest.starts_with("=\"")) {
      rest.remove_prefix(2);
    } else if (rest.starts_with(">")) {
      rest.remove_prefix(1);
    } else {
      continue;
    }
    if (!rest.empty() && rest[0] >= '0' && rest[0] <= '9') {
      return valid_orientation(static_cast<uint64_t>(rest[0] - '0'));
    }
  }
  return 0;
}

void apply_orientation(int orientation, DecodedImage& image) {
  if (orientation < 2 || orientation > 8) return;
  const auto width = static_cast<size_t>(image.width);
  const auto height = static_cast<size_t>(image.height);
  const bool swaps_sides = orientation >= 5;
  // Which end of the stored picture the turned one starts from.
  const bool from_right =
      orientation == 2 || orientation == 3 || orientation == 7 || orientation == 8;
  const bool from_bottom =
      orientation == 3 || orientation == 4 || orientation == 6 || orientation == 7;
  std::vector<uint8_t> turned(image.pixels.size());
  const size_t out_width = swaps_sides ? height : width;
  const size_t out_height = swaps_sides ? width : height;
  uint8_t* to = turned.data();
  for (size_t y = 0; y < out_height; ++y) {
    for (size_t x = 0; x < out_width; ++x, to += 3) {
      const size_t across = swaps_sides ? y : x;
      const size_t down = swaps_sides ? x : y;
      const size_t from_x = from_right ? width - 1 - across : across;
      const size_t from_y = from_bottom ? height - 1 - down : down;
      std::copy_n(image.pixels.data() + (from_y * width + from_x) * 3, 3, to);
    }
  }
  image.pixels = std::move(turned);
  image.width = static_cast<int>(out_width);
  image.height = static_cast<int>(out_height);
}

}  // namespace cantilever
