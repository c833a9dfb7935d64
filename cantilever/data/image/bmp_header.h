#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "cantilever/data/image/raw_rows.h"

namespace cantilever {

struct BmpHeader {
  int64_t width = 0;
  int64_t height = 0;
  bool top_down = false;
  bool is_rle = false;
  bool is_rle4 = false;
  std::string_view mode;  // Pillow's: "1", "L", "P", "RGB", "RGBA"
  std::string_view raw_mode;
  int64_t stride = 0;  // bytes from row to row, of raw data
  RgbPalette palette = {};
  bool palette_too_large = false;
  size_t data_offset = 0;
};

// `encoded` is the file; its bitmap header stands at `at` and its picture at `data_offset`, 0 where
// it follows the header. Throws Error.
BmpHeader read_bmp_header(std::span<const std::byte> encoded, size_t at, size_t data_offset);

}  // namespace cantilever
