#pragma once

#include <cstdint>
#include <string_view>

#include "cantilever/data/image/raw_rows.h"
#include "cantilever/data/image/tiff_directory.h"

namespace cantilever {

// What the tags of a TIFF say about its samples.
struct TiffLayout {
  int64_t width = 0;  // as stored
  int64_t height = 0;
  int64_t compression = 1;
  bool is_planar = false;      // samples of a kind lie together
  int64_t bits_per_pixel = 0;  // as the tags say, all samples
  int64_t bands = 0;           // samples a pixel by photometric interpretation and extra samples
  std::string_view mode;       // Pillow's
  std::string_view raw_mode;   // of uncompressed data
  std::string_view unpacked;   // raw mode of what libtiff makes of compressed data
  RgbPalette palette = {};

  bool is_compressed() const { return compression != 1; }
};

// With Pillow's table of what it reads. Throws Error.
TiffLayout read_tiff_layout(const TiffDirectory& directory);

}  // namespace cantilever
