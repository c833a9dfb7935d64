#pragma once

#include <cstdint>

#include "cantilever/data/image/augment.h"

namespace cantilever {

// torchvision's adjust_brightness, adjust_contrast, adjust_saturation and adjust_hue (of tensors)
// in the order drawn, then rgb_to_grayscale, in place. `pixels` [3, plane]: float32 of 0..1, where
// results are cut to 0..1 (values beyond, which a float resize makes, are taken as torchvision
// takes them, but never become NaN), or uint8, where fractions are cut off.
void apply_colour_changes(const AugmentationChoice& choice, float* pixels, int64_t plane);
void apply_colour_changes(const AugmentationChoice& choice, uint8_t* pixels, int64_t plane);

}  // namespace cantilever
