#pragma once

#include <cstdint>

#include "cantilever/data/image/decode.h"
#include "cantilever/data/image/resample_axis.h"
#include "cantilever/data/image/transform.h"

namespace cantilever {

// How one side of a picture becomes S samples: `window` of the resized side, between samples of
// level 0 (hf-processor only; window.count + before + after = S).
struct PlannedSide {
  ResampleWindow window;
  int64_t before = 0;
  int64_t after = 0;
};

struct PicturePlan {
  int left = 0;  // the part of the picture that is resized, in pixels: the whole, or a random crop
  int top = 0;
  PlannedSide columns;
  PlannedSide rows;
  bool vertical_first = false;  // the order of the two passes
};

// Sizes and crop of options.semantics. Throws Error for sides out of range and where hf-processor
// refuses the picture (one side would be resized to nothing).
PicturePlan plan_picture(int width, int height, const TransformOptions& options);

// `crop` resized to S x S, whatever its shape, as torchvision's RandomResizedCrop does.
PicturePlan plan_crop(const ImageWindow& crop, const TransformOptions& options);

}  // namespace cantilever
