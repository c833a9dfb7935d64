#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace cantilever {

// The layout of a row of samples as stored, one of Pillow's raw modes.
struct PngLayout {
  const char* mode;  // Pillow's name for the picture: "1", "L", "I;16", "RGB", "P", "LA", "RGBA"
  int bit_depth;     // bits a sample: 1, 2, 4, 8, 16
  int samples;       // samples a pixel: 1, 2, 3, 4
  bool is_palette;

  int bits_per_pixel() const { return bit_depth * samples; }
};

// A rectangle of the picture; an animation may fill less than all of it in its first frame.
struct PngRegion {
  uint32_t left = 0;
  uint32_t top = 0;
  uint32_t width = 0;
  uint32_t height = 0;
};

// Reads a PNG chunk by chunk with the checks of Pillow 13: check sums count before the picture data
// and not from there on, an ancillary chunk that is too short or unpacks to more than a mebibyte is
// refused, frame numbers of an animation must follow one another.
class PngChunks {
 public:
  // `encoded` must outlive the object and begin with the PNG signature.
  explicit PngChunks(std::span<const std::byte> encoded);

  // Up to the first picture data. Throws Error.
  void read_header();

  // The next piece of picture data, at most 65,536 bytes; empty where picture data ends.
  std::string_view next_data();

  // The chunks behind the picture data.
  void read_trailer();

  uint32_t width() const { return width_; }
  uint32_t height() const { return height_; }
  const PngLayout& layout() const { return *layout_; }
  bool interlaced() const { return interlaced_; }
  const std::optional<PngRegion>& first_frame() const { return frame_; }
  std::string_view palette() const { return palette_; }
  int orientation() const;  // 1..8; 1 when nothing says so

 private:
  struct Chunk {
    std::string_view name;
    size_t length;
  };
  enum class Kind { kRead, kPictureData, kEnd, kUnknown };

  bool at_trailer_end();
  Chunk next_chunk();
  std::string_view take(size_t length);
  Kind read_chunk(const Chunk& chunk);
  Kind read_picture_data();
  void read_size(std::string_view body);
  void read_transparency(std::string_view body) const;
  void read_text(std::string_view body);
  void read_compressed_text(std::string_view body);
  void read_international_text(std::string_view body);
  void read_colour_profile(std::string_view body);
  void read_animation(std::string_view body);
  void read_frame(std::string_view body);
  void read_frame_number(size_t length);
  void check_sum(std::string_view name, std::string_view body);
  void keep_text(std::string_view keyword, std::string text, bool is_plain);
  bool is_animated() const;

  std::string_view file_;
  size_t at_ = 8;
  size_t data_left_ = 0;  // of the current picture data chunk
  uint32_t width_ = 0;
  uint32_t height_ = 0;
  const PngLayout* layout_ = nullptr;
  bool interlaced_ = false;
  bool has_data_ = false;
  std::string_view palette_;
  std::optional<PngRegion> frame_;
  std::optional<uint32_t> frame_count_;
  std::optional<uint32_t> last_frame_number_;
  bool data_is_default_picture_ = false;
  size_t text_bytes_ = 0;
  std::string exif_;
  std::string raw_profile_;  // "Raw profile type exif" as ImageMagick writes it
  std::string xmp_;
};

}  // namespace cantilever
