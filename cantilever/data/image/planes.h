#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "cantilever/data/image/raw_rows.h"

namespace cantilever {

// Samples that arrive plane by plane, as four bytes a pixel until all are there. What never arrives
// is zero. Memory is backed as it is written.
class Planes {
 public:
  // Throws Error when there is no memory.
  Planes(int width, int height);

  // Samples of a mode in memory that come one plane each: 3 or 4, 2 with alpha, else 1.
  static int bands(std::string_view mode);
  // Which sample of the mode Pillow means by a letter ("R" of "RGB"), -1 for none.
  static int band_of(std::string_view mode, std::string_view letter);

  // `count` samples of `band` from pixel `at` on; samples are `step` bytes apart.
  void write(int band, size_t at, const uint8_t* samples, size_t step, size_t count);

  // `premultiplied`: colours are multiplied by the fourth plane.
  void to_rgb(std::string_view mode, bool premultiplied, const RgbPalette& palette,
              std::vector<uint8_t>& pixels) const;

 private:
  struct Free {
    void operator()(uint8_t* bytes) const;
  };
  int width_;
  int height_;
  std::unique_ptr<uint8_t, Free> samples_;  // [height, width, 4]
};

}  // namespace cantilever
