#pragma once

#include <cstdint>

#include "cantilever/data/image/decode.h"

namespace cantilever {

// Rows of a stored picture as they are once its orientation is applied
// (PIL.ImageOps.exif_transpose) without a turned copy of the whole.
class UprightRows {
 public:
  // `stored` must live on. orientation: 1..8 as in EXIF.
  UprightRows(const ImageView& stored, int orientation);

  int width() const { return width_; }
  int height() const { return height_; }
  // Rows [first, first + count), columns [left, right), into `out`: uint8 [count, width(), 3].
  void copy(int first, int count, int left, int right, uint8_t* out) const;

 private:
  int width_;
  int height_;
  const uint8_t* origin_;  // the stored pixel that comes to the upper left corner
  ptrdiff_t right_;        // bytes to the stored pixel that comes one column to the right
  ptrdiff_t down_;         // and one row below
};

}  // namespace cantilever
