#pragma once

#include <array>
#include <cstdint>

namespace cantilever {

// Random changes of training pictures, all off by default; named and defined as torchvision's
// RandomResizedCrop, RandomHorizontalFlip, ColorJitter and RandomGrayscale, whose arguments
// open_clip's --aug-cfg takes.
struct AugmentationOptions {
  bool random_resized_crop = false;
  std::array<double, 2> crop_scale = {0.9, 1.0};          // share of the picture's area
  std::array<double, 2> crop_ratio = {3.0 / 4, 4.0 / 3};  // width / height
  double horizontal_flip = 0;                             // probability
  std::array<double, 4> color_jitter = {0, 0, 0, 0};      // brightness, contrast, saturation, hue
  double color_jitter_probability = 1;
  double grayscale_probability = 0;

  bool any() const;
  bool operator==(const AugmentationOptions&) const = default;
};

// The changes of one picture: options and the key that its random numbers are counted under. The
// same draw gives the same picture for any number of threads.
struct AugmentationDraw {
  AugmentationOptions options;
  uint64_t key = 0;  // mix_key(mix_key(seed, epoch), row)
};

}  // namespace cantilever
