#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace cantilever {

// uint8 [height, width, 3] rows, borrowed.
struct ImageView {
  const uint8_t* pixels = nullptr;
  int width = 0;
  int height = 0;
};

struct DecodedImage {
  int width = 0;
  int height = 0;
  std::string format;  // "JPEG", "PNG"
  std::string mode;    // Pillow's name of the stored mode: "RGB", "L", "P", "RGBA", "CMYK" ...
  int exif_orientation = 1;     // 1..8 as stored, whether applied or not
  std::vector<uint8_t> pixels;  // [height, width, 3]

  ImageView view() const { return {pixels.data(), width, height}; }
};

struct DecodeOptions {
  bool apply_exif_orientation = false;
  // Pillow raises DecompressionBombError above twice its MAX_IMAGE_PIXELS.
  int64_t max_pixels = 2 * int64_t{89478485};
};

// What a header says.
struct ImageInfo {
  int width = 0;  // as stored
  int height = 0;
  const char* format = "";   // "JPEG", "PNG", ...
  const char* mode = "";     // Pillow's name of the stored mode
  int exif_orientation = 1;  // 1..8
};

// A rectangle in pixels of the stored picture; right and bottom are outside.
struct ImageWindow {
  int left = 0;
  int top = 0;
  int right = 0;
  int bottom = 0;
};

// Some rows of a picture, one after the other: uint8 [count, width, 3], of which only the columns
// of the window are defined. `pixels` is column 0 of row `first`; rows lie `stride` bytes apart.
struct RowBlock {
  const uint8_t* pixels = nullptr;
  ptrdiff_t stride = 0;
  int first = 0;
  int count = 0;
};

// A decoder for one thread that keeps its memory from picture to picture: after a few pictures it
// allocates nothing. Rows come out as they are decoded, so that they are still in the cache when
// they are resampled; only what the window shows is computed where the format allows it. Pixels,
// refusals and their reasons are those of decode_image, whatever path is taken.
class ImageDecoder {
 public:
  ImageDecoder();
  ~ImageDecoder();

  // Reads the header. `encoded` must live until finish() or the next open().
  const ImageInfo& open(std::span<const std::byte> encoded, const DecodeOptions& options = {});
  // Which part will be looked at; the whole picture when it is not called. After open() and before
  // the first next_rows().
  void set_window(const ImageWindow& window);
  // The next rows of the window from top to bottom, at least one; valid until the next call. Throws
  // Error where the picture is broken.
  RowBlock next_rows();
  // Checks what lies behind the window: a picture that is broken there is refused all the same.
  void finish();
  // Rows of the last picture that came from the fast JPEG path, for statistics and tests.
  int fast_rows() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// Decodes to RGB by the rules of Pillow's convert("RGB") (alpha dropped, 16-bit grey clipped, CMYK
// as Pillow, no colour management). The format is found by magic bytes. Throws Error with the
// reason (empty, not a picture and what it looks like, truncated at ..., too large); never exits or
// crashes.
DecodedImage decode_image(std::span<const std::byte> encoded, const DecodeOptions& options = {});

}  // namespace cantilever
