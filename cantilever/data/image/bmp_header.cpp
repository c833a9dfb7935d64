#include "cantilever/data/image/bmp_header.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <string_view>

#include "cantilever/base/error.h"

namespace cantilever {
namespace {

constexpr uint32_t kRaw = 0;
constexpr uint32_t kRle8 = 1;
constexpr uint32_t kRle4 = 2;
constexpr uint32_t kBitfields = 3;

// Masks of red, green, blue, alpha that Pillow knows, and the raw mode they mean.
struct Bitfields {
  uint32_t bits;
  std::array<uint32_t, 4> masks;
  std::string_view mode;
  std::string_view raw_mode;
};
constexpr std::array<Bitfields, 11> kKnownBitfields = {{
    {32, {0xff0000, 0xff00, 0xff, 0}, "RGB", "BGRX"},
    {32, {0xff000000, 0xff0000, 0xff00, 0}, "RGB", "XBGR"},
    {32, {0xff000000, 0xff00, 0xff, 0}, "RGB", "BGXR"},
    {32, {0xff000000, 0xff0000, 0xff00, 0xff}, "RGBA", "ABGR"},
    {32, {0xff, 0xff00, 0xff0000, 0xff000000}, "RGBA", "RGBA"},
    {32, {0xff0000, 0xff00, 0xff, 0xff000000}, "RGBA", "BGRA"},
    {32, {0xff000000, 0xff00, 0xff, 0xff0000}, "RGBA", "BGAR"},
    {32, {0, 0, 0, 0}, "RGBA", "BGRA"},
    {24, {0xff0000, 0xff00, 0xff, 0}, "RGB", "BGR"},
    {16, {0xf800, 0x7e0, 0x1f, 0}, "RGB", "BGR;16"},
    {16, {0x7c00, 0x3e0, 0x1f, 0}, "RGB", "BGR;15"},
}};

class HeaderReader {
 public:
  HeaderReader(std::string_view file, size_t at) : file_(file), at_(at) {}

  BmpHeader read(size_t data_offset) {
    size_ = number(take(4), 0, 4);
    CANTILEVER_CHECK(size_ == 12 || size_ == 40 || size_ == 52 || size_ == 56 || size_ == 64 ||
                         size_ == 108 || size_ == 124,
                     "BMP: a header of ", size_,
                     " bytes; those of 12, 40, 52, 56, 64, 108 and 124 bytes are read");
    const std::string_view body = take(size_ - 4);
    if (size_ == 12) {
      read_core(body);
    } else {
      read_info(body);
    }
    if (colours_ == 0) colours_ = bits_ < 32 ? uint64_t{1} << bits_ : 0;
    const bool follows = data_offset == 14 + size_ && bits_ <= 8;
    header_.data_offset = data_offset + (follows ? padding_ * colours_ : 0);
    choose_layout(body);
    if (header_.mode == "P") read_palette();
    header_.is_rle = compression_ == kRle8 || compression_ == kRle4;
    header_.is_rle4 = compression_ == kRle4;
    header_.stride = (header_.width * bits_ + 31) / 8 / 4 * 4;
    if (header_.data_offset == 0) header_.data_offset = at_;
    return header_;
  }

 private:
  static uint32_t number(std::string_view bytes, size_t at, size_t length) {
    uint32_t value = 0;
    for (size_t i = length; i-- > 0;) {
      value = value << 8U | static_cast<unsigned char>(bytes[at + i]);
    }
    return value;
  }

  std::string_view take(size_t length) {
    const std::string_view rest = file_.substr(std::min(at_, file_.size()));
    CANTILEVER_CHECK(length <= rest.size(), "BMP: truncated in the header at byte ", at_);
    at_ += length;
    return rest.substr(0, length);
  }

  void read_core(std::string_view body) {
    header_.width = number(body, 0, 2);
    header_.height = number(body, 2, 2);
    bits_ = number(body, 6, 2);
    padding_ = 3;
  }

  void read_info(std::string_view body) {
    header_.width = number(body, 0, 4);
    const int64_t height = number(body, 4, 4);
    header_.top_down = static_cast<unsigned char>(body[7]) == 0xff;
    header_.height = header_.top_down ? (int64_t{1} << 32U) - height : height;
    bits_ = number(body, 10, 2);
    compression_ = number(body, 12, 4);
    colours_ = number(body, 28, 4);
    padding_ = 4;
  }

  void choose_layout(std::string_view body) {
    switch (bits_) {
      case 1:
      case 4:
      case 8:
        header_.mode = "P";
        header_.raw_mode = bits_ == 1 ? "P;1" : bits_ == 4 ? "P;4" : "P";
        break;
      case 16:
      case 24:
      case 32:
        header_.mode = "RGB";
        header_.raw_mode = bits_ == 16 ? "BGR;15" : bits_ == 24 ? "BGR" : "BGRX";
        break;
      default:
        throw_error(concat("BMP: ", bits_, " bits a pixel; 1, 4, 8, 16, 24 and 32 are read"));
    }
    CANTILEVER_CHECK(compression_ <= kBitfields, "BMP: compression ", compression_,
                     "; none, RLE8, RLE4 and bitfields are read");
    if (compression_ == kBitfields) read_bitfields(body);
  }

  void read_bitfields(std::string_view body) {
    std::array<uint32_t, 4> masks = {};
    const size_t count = size_ >= 56 ? 4 : 3;
    // In the header, or behind one of 40 bytes.
    const std::string_view bytes = size_ >= 52 ? body.substr(36) : take(12);
    for (size_t i = 0; i < count; ++i) masks[i] = number(bytes, i * 4, 4);
    for (const Bitfields& known : kKnownBitfields) {
      const size_t compared = known.bits == 32 ? 4 : 3;
      if (known.bits == bits_ &&
          std::equal(masks.begin(), masks.begin() + compared, known.masks.begin())) {
        header_.mode = known.mode;
        header_.raw_mode = known.raw_mode;
        return;
      }
    }
    throw_error(concat("BMP: ", bits_, " bits a pixel with colour masks that are not read (red ",
                       masks[0], ", green ", masks[1], ", blue ", masks[2], ", alpha ", masks[3],
                       ")"));
  }

  // A palette that is the grey ramp makes the picture grey, of two colours black and white; Pillow
  // reads the data as one byte or one bit a pixel then, whatever the header says.
  void read_palette() {
    CANTILEVER_CHECK(colours_ >= 1 && colours_ <= 65536, "BMP: a palette of ", colours_,
                     " colours, 1 to 65536 are possible");
    const std::string_view rest = file_.substr(std::min(at_, file_.size()));
    const std::string_view bytes = rest.substr(0, padding_ * colours_);
    at_ += bytes.size();
    bool is_grey = bytes.size() >= padding_ * (colours_ - 1) + 3;
    for (size_t i = 0; is_grey && i < colours_; ++i) {
      const auto level = static_cast<char>(colours_ == 2 ? i * 255 : i & 255U);
      const char* colour = bytes.data() + i * padding_;
      is_grey = colour[0] == level && colour[1] == level && colour[2] == level;
    }
    if (is_grey) {
      header_.mode = header_.raw_mode = colours_ <= 2 ? "1" : "L";
      return;
    }
    const size_t entries = bytes.size() / padding_;
    header_.palette_too_large = entries > header_.palette.size();
    for (size_t i = 0; i < std::min(entries, header_.palette.size()); ++i) {
      for (size_t c = 0; c < 3; ++c) {
        header_.palette[i][c] = static_cast<uint8_t>(bytes[i * padding_ + 2 - c]);
      }
    }
  }

  std::string_view file_;
  size_t at_;
  BmpHeader header_;
  uint32_t size_ = 0;
  uint32_t bits_ = 0;
  uint32_t compression_ = kRaw;
  uint64_t colours_ = 0;
  size_t padding_ = 0;  // bytes a colour of the palette
};

}  // namespace

BmpHeader read_bmp_header(std::span<const std::byte> encoded, size_t at, size_t data_offset) {
  const std::string_view file = {reinterpret_cast<const char*>(encoded.data()), encoded.size()};
  return HeaderReader(file, at).read(data_offset);
}

}  // namespace cantilever
