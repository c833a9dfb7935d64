#include "cantilever/data/image/upright.h"

#include "cantilever/base/error.h"

namespace cantilever {

UprightRows::UprightRows(const ImageView& stored, int orientation) {
  CANTILEVER_ASSERT(orientation >= 1 && orientation <= 8, "orientation ", orientation);
  constexpr ptrdiff_t kPixel = 3;
  const ptrdiff_t row = kPixel * stored.width;
  // 2: mirrored, 3: half a turn, 4: upside down, 5: transposed, 6: a quarter turn to the right, 7:
  // transposed along the other diagonal, 8: a quarter turn to the left.
  const bool transposed = orientation >= 5;
  const bool from_right = orientation == 2 || orientation == 3 || orientation >= 7;
  const bool from_bottom =
      orientation == 3 || orientation == 4 || orientation == 6 || orientation == 7;
  width_ = transposed ? stored.height : stored.width;
  height_ = transposed ? stored.width : stored.height;
  origin_ = stored.pixels + (from_right ? (stored.width - 1) * kPixel : 0) +
            (from_bottom ? (stored.height - 1) * row : 0);
  const ptrdiff_t along = from_right ? -kPixel : kPixel;
  const ptrdiff_t across = from_bottom ? -row : row;
  right_ = transposed ? across : along;
  down_ = transposed ? along : across;
}

void UprightRows::copy(int first, int count, int left, int right, uint8_t* out) const {
  for (int y = 0; y < count; ++y) {
    const uint8_t* from = origin_ + (first + y) * down_ + left * right_;
    uint8_t* to = out + (ptrdiff_t{y} * width_ + left) * 3;
    for (int x = left; x < right; ++x, from += right_, to += 3) {
      to[0] = from[0];
      to[1] = from[1];
      to[2] = from[2];
    }
  }
}

}  // namespace cantilever
