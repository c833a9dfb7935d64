#pragma once

#include <cstdint>
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

// Decodes to RGB by the rules of Pillow's convert("RGB") (alpha dropped, 16-bit grey clipped, CMYK
// as Pillow, no colour management). The format is found by magic bytes. Throws Error with the
// reason (empty, not a picture and what it looks like, truncated at ..., too large); never exits or
// crashes.
DecodedImage decode_image(std::span<const std::byte> encoded, const DecodeOptions& options = {});

}  // namespace cantilever
