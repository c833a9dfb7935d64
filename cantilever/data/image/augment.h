#pragma once

#include <array>
#include <cstdint>

namespace cantilever {

// Random changes of training pictures, all off by default; named and defined as torchvision's
// RandomResizedCrop, RandomHorizontalFlip, ColorJitter and RandomGrayscale, whose arguments
// open_clip's --aug-cfg takes. Applied in this order.
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

// Throws Error that names the option and its value: crop_scale within (0, 1] and ascending,
// crop_ratio above 0 and ascending, probabilities 0..1, color_jitter finite and not negative, hue
// at most 0.5.
void check_augmentation(const AugmentationOptions& options);

// The changes of one picture: options and the key that its random numbers are counted under. The
// same draw gives the same picture for any number of threads.
struct AugmentationDraw {
  AugmentationOptions options;
  uint64_t key = 0;  // mix_key(mix_key(seed, epoch), row)
};

// The operations of ColorJitter.
enum class ColourChange { kBrightness, kContrast, kSaturation, kHue };

// What was drawn for one picture.
struct AugmentationChoice {
  bool crops = false;
  int left = 0;  // the crop, in pixels of the picture as it is shown
  int top = 0;
  int width = 0;
  int height = 0;
  bool flips = false;
  bool jitters = false;
  std::array<ColourChange, 4> order = {ColourChange::kBrightness, ColourChange::kContrast,
                                       ColourChange::kSaturation, ColourChange::kHue};
  std::array<double, 4> factor = {1, 1, 1, 0};  // by ColourChange
  std::array<bool, 4> used = {};                // by ColourChange: its option is not 0
  bool grey = false;

  bool changes_colours() const { return jitters || grey; }
};

// A pure function of the draw and the size. The crop is torchvision's get_params: ten tries, then
// the largest centre crop within the ratios. Every number has a place of its own in the random
// sequence: switching one change on or off leaves the others as they were.
AugmentationChoice draw_augmentation(const AugmentationDraw& draw, int width, int height);

}  // namespace cantilever
