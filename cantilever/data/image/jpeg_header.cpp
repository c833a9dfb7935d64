#include <algorithm>
#include <string>
#include <string_view>

#include "cantilever/base/error.h"
#include "cantilever/data/image/exif.h"
#include "cantilever/data/image/jpeg.h"

namespace cantilever {
namespace {

using std::string_view_literals::operator""sv;

uint32_t byte_at(std::string_view bytes, size_t at) {
  return static_cast<unsigned char>(bytes[at]);
}

uint32_t big_endian_16(std::string_view bytes, size_t at) {
  return byte_at(bytes, at) << 8U | byte_at(bytes, at + 1);
}

// Walks over the segments up to the first scan. What is refused here is what Pillow refuses before
// libjpeg sees the file, so that a data set loses the same rows here as there.
class HeaderReader {
 public:
  explicit HeaderReader(std::string_view file) : file_(file) {}

  JpegHeader read() {
    if (!find_scan()) {
      throw_error(concat("JPEG: no picture data; the file ends at byte ", file_.size(),
                         " before the first scan"));
    }
    CANTILEVER_CHECK(header_.components != 0, "JPEG: the first scan at byte ", at_,
                     " comes before any frame header (SOF)");
    return std::move(header_);
  }

 private:
  // Leaves at_ behind the header of the first scan; false at the end of the file.
  bool find_scan() {
    at_ = 2;  // behind the start marker
    while (at_ < file_.size()) {
      if (byte_at(file_, at_) != 0xff) {  // junk between segments
        ++at_;
        continue;
      }
      if (++at_ >= file_.size()) return false;
      const uint32_t marker = byte_at(file_, at_);
      if (marker == 0xff) continue;  // padding; this FF may begin the marker
      ++at_;
      if (marker == 0) continue;
      CANTILEVER_CHECK(marker >= 0xc0 && marker <= 0xfe, "JPEG: byte ", at_ - 1,
                       " should be a marker, it is ", marker);
      if (!has_segment(marker)) continue;
      read_segment(marker);
      if (marker == 0xda) return true;
    }
    return false;
  }

  static bool has_segment(uint32_t marker) {
    const bool is_extension = marker >= 0xf0 && marker <= 0xfd;
    const bool is_restart_or_image_end = marker >= 0xd0 && marker <= 0xd9;
    return marker != 0xc8 && !is_extension && !is_restart_or_image_end;
  }

  void read_segment(uint32_t marker) {
    const size_t start = at_;
    const size_t left = file_.size() - at_;
    const size_t length = left >= 2 ? big_endian_16(file_, at_) : 0;
    CANTILEVER_CHECK(left >= 2 && length <= left, "JPEG: truncated; the segment at byte ", start,
                     " needs ", std::max<size_t>(length, 2), " bytes, the file has ", left);
    const std::string_view body = file_.substr(at_ + 2, length < 2 ? 0 : length - 2);
    at_ += std::max<size_t>(length, 2);
    if (is_frame_header(marker)) {
      read_frame(body, start);
    } else if (marker == 0xdb) {
      check_quantisation(body, start);
    } else if (marker >= 0xe0 && marker <= 0xef) {
      read_application(body, marker, start);
    }
  }

  static bool is_frame_header(uint32_t marker) {
    const bool is_frame =
        marker >= 0xc0 && marker <= 0xcf && marker != 0xc4 && marker != 0xc8 && marker != 0xcc;
    return is_frame || marker == 0xde;
  }

  void read_frame(std::string_view body, size_t start) {
    CANTILEVER_CHECK(body.size() >= 6, "JPEG: the frame header at byte ", start, " is too short");
    CANTILEVER_CHECK(byte_at(body, 0) == 8, "JPEG: ", byte_at(body, 0),
                     "-bit samples; only 8-bit JPEG is read");
    header_.height = static_cast<int>(big_endian_16(body, 1));
    header_.width = static_cast<int>(big_endian_16(body, 3));
    header_.components = static_cast<int>(byte_at(body, 5));
    CANTILEVER_CHECK(header_.components == 1 || header_.components == 3 || header_.components == 4,
                     "JPEG: ", header_.components,
                     " colour components; 1 (grey), 3 (RGB) and 4 (CMYK) are read");
    CANTILEVER_CHECK((body.size() - 6) % 3 == 0, "JPEG: the frame header at byte ", start,
                     " has an impossible length");
    check_colour_profile();
  }

  static void check_quantisation(std::string_view body, size_t start) {
    while (!body.empty()) {
      const size_t length = byte_at(body, 0) < 16 ? 65 : 129;
      CANTILEVER_CHECK(body.size() >= length, "JPEG: the quantisation table at byte ", start,
                       " is cut short");
      body.remove_prefix(length);
    }
  }

  void read_application(std::string_view body, uint32_t marker, size_t start) {
    const bool has_version = body.size() >= 7;
    if (marker == 0xe0 && body.starts_with("JFIF")) {
      CANTILEVER_CHECK(has_version, "JPEG: the JFIF segment at byte ", start, " is cut short");
    } else if (marker == 0xe1 && body.starts_with("Exif\0\0"sv)) {
      if (header_.exif().empty()) {
        header_.exif_segment = body;
      } else {
        if (header_.joined_exif.empty()) header_.joined_exif = header_.exif_segment;
        header_.joined_exif += body.substr(6);
      }
    } else if (marker == 0xe1 && body.starts_with("http://ns.adobe.com/xap/1.0/\0"sv)) {
      header_.xmp = body.substr(29);
    } else if (marker == 0xe2 && body.starts_with("ICC_PROFILE\0"sv)) {
      if (!has_colour_profile_ || body < colour_profile_) colour_profile_ = body;
      has_colour_profile_ = true;
    } else if (marker == 0xed && body.starts_with("Photoshop 3.0\0"sv)) {
      check_photoshop(body, start);
    } else if (marker == 0xee && body.starts_with("Adobe")) {
      CANTILEVER_CHECK(has_version, "JPEG: the Adobe segment at byte ", start, " is cut short");
    }
  }

  // Pillow trips over a part of a colour profile that has no number.
  void check_colour_profile() {
    if (!has_colour_profile_) return;
    CANTILEVER_CHECK(colour_profile_.size() > 13,
                     "JPEG: a part of the colour profile is cut short");
    has_colour_profile_ = false;
  }

  // Pillow stops where a resource block ends before its name; other shortfalls it forgives.
  static void check_photoshop(std::string_view body, size_t start) {
    size_t at = 14;
    while (at < body.size() && body.substr(at).starts_with("8BIM")) {
      at += 4;
      if (body.size() < at + 2) return;
      const uint32_t code = big_endian_16(body, at);
      at += 2;
      CANTILEVER_CHECK(at < body.size(), "JPEG: the Photoshop segment at byte ", start,
                       " is cut short");
      at += 1 + byte_at(body, at);
      at += at & 1U;
      if (at > body.size() || body.size() - at < 4) return;
      const size_t size = size_t{big_endian_16(body, at)} << 16U | big_endian_16(body, at + 2);
      at += 4;
      const size_t held = std::min(size, at < body.size() ? body.size() - at : 0);
      constexpr uint32_t kResolution = 0x03ed;
      if (code == kResolution && held < 14) return;
      at += size;
      at += at & 1U;
    }
  }

  std::string_view file_;
  size_t at_ = 0;
  JpegHeader header_;
  std::string_view colour_profile_;  // the first part, in order of the bytes
  bool has_colour_profile_ = false;
};

}  // namespace

int JpegHeader::orientation() const {
  const int from_exif = exif_orientation(exif());
  const int found = from_exif != 0 ? from_exif : xmp_orientation(xmp);
  return found == 0 ? 1 : found;
}

JpegHeader read_jpeg_header(std::span<const std::byte> encoded) {
  return HeaderReader({reinterpret_cast<const char*>(encoded.data()), encoded.size()}).read();
}

}  // namespace cantilever
