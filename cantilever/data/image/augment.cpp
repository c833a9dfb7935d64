#include "cantilever/data/image/augment.h"

#include <algorithm>
#include <cmath>
#include <string_view>
#include <utility>

#include "cantilever/base/error.h"
#include "cantilever/base/rng.h"

namespace cantilever {
namespace {

// Places in the random sequence: blocks of four numbers.
enum class Place : uint32_t { kFlags = 0, kJitterOrder = 1, kJitterFactors = 2, kCrop = 8 };

std::array<uint32_t, 4> draw_block(uint64_t key, uint32_t place) {
  constexpr uint32_t kStream = 0x61756766;  // "augf": apart from other uses of the same key
  return philox4x32({place, 0, 0, kStream},
                    {static_cast<uint32_t>(key), static_cast<uint32_t>(key >> 32U)});
}

std::array<uint32_t, 4> draw_block(uint64_t key, Place place) {
  return draw_block(key, static_cast<uint32_t>(place));
}

double unit(uint32_t bits) {
  return static_cast<double>(bits) * 0x1p-32;  // [0, 1)
}

double between(uint32_t bits, double low, double high) {
  return low + (high - low) * unit(bits);
}

// 0..last; unbiased to within 2^-32.
int whole_up_to(uint32_t bits, int last) {
  return static_cast<int>((uint64_t{bits} * (static_cast<uint64_t>(last) + 1)) >> 32U);
}

// Python's round: halves to even.
int rounded(double value) {
  return static_cast<int>(std::nearbyint(value));
}

void set_crop(AugmentationChoice& choice, int left, int top, int width, int height) {
  choice.left = left;
  choice.top = top;
  choice.width = width;
  choice.height = height;
}

void choose_centre_crop(const AugmentationOptions& options, int width, int height,
                        AugmentationChoice& choice) {
  const double ratio = static_cast<double>(width) / height;
  const auto [narrowest, widest] = options.crop_ratio;
  int crop_width = width;
  int crop_height = height;
  if (ratio < narrowest) crop_height = rounded(width / narrowest);
  if (ratio > widest) crop_width = rounded(height * widest);
  // torchvision would round a sliver of less than half a pixel to nothing and fail.
  crop_width = std::max(crop_width, 1);
  crop_height = std::max(crop_height, 1);
  set_crop(choice, (width - crop_width) / 2, (height - crop_height) / 2, crop_width, crop_height);
}

void choose_crop(const AugmentationDraw& draw, int width, int height, AugmentationChoice& choice) {
  constexpr uint32_t kTries = 10;
  const AugmentationOptions& options = draw.options;
  const double area = static_cast<double>(width) * height;
  choice.crops = true;
  for (uint32_t i = 0; i < kTries; ++i) {
    const auto bits = draw_block(draw.key, static_cast<uint32_t>(Place::kCrop) + i);
    const double target = area * between(bits[0], options.crop_scale[0], options.crop_scale[1]);
    const double ratio = std::exp(
        between(bits[1], std::log(options.crop_ratio[0]), std::log(options.crop_ratio[1])));
    const double exact_width = std::sqrt(target * ratio);
    const double exact_height = std::sqrt(target / ratio);
    if (exact_width > width + 1.0 || exact_height > height + 1.0) continue;
    const int crop_width = rounded(exact_width);
    const int crop_height = rounded(exact_height);
    if (crop_width <= 0 || crop_width > width || crop_height <= 0 || crop_height > height) continue;
    const int top = whole_up_to(bits[2], height - crop_height);
    const int left = whole_up_to(bits[3], width - crop_width);
    set_crop(choice, left, top, crop_width, crop_height);
    return;
  }
  choose_centre_crop(options, width, height, choice);
}

void choose_jitter(const AugmentationDraw& draw, AugmentationChoice& choice) {
  const auto order = draw_block(draw.key, Place::kJitterOrder);
  const auto factors = draw_block(draw.key, Place::kJitterFactors);
  for (int i = 3; i > 0; --i) {
    const int other = whole_up_to(order[static_cast<size_t>(i)], i);
    std::swap(choice.order[static_cast<size_t>(i)], choice.order[static_cast<size_t>(other)]);
  }
  for (size_t i = 0; i < 4; ++i) {
    const double strength = draw.options.color_jitter[i];
    const bool is_hue = i == static_cast<size_t>(ColourChange::kHue);
    choice.used[i] = strength > 0;
    if (!choice.used[i]) continue;
    choice.factor[i] = is_hue ? between(factors[i], -strength, strength)
                              : between(factors[i], std::max(0.0, 1 - strength), 1 + strength);
  }
}

void check_range(std::string_view name, const std::array<double, 2>& range, double largest) {
  // Written so that a NaN fails.
  CANTILEVER_CHECK(range[0] > 0 && range[0] <= range[1] && range[1] <= largest, name, " ", range[0],
                   " to ", range[1], " is not a range of numbers above 0",
                   largest == 1 ? " and up to 1" : "", ", the smaller first");
}

void check_probability(std::string_view name, double value) {
  CANTILEVER_CHECK(value >= 0 && value <= 1, name, " ", value, " is not a probability (0 to 1)");
}

bool jitters(const AugmentationOptions& options) {
  return options.color_jitter_probability > 0 &&
         std::any_of(options.color_jitter.begin(), options.color_jitter.end(),
                     [](double strength) { return strength > 0; });
}

}  // namespace

bool AugmentationOptions::any() const {
  return random_resized_crop || horizontal_flip > 0 || jitters(*this) || grayscale_probability > 0;
}

void check_augmentation(const AugmentationOptions& options) {
  constexpr double kLargestRatio = 1e6;
  constexpr double kLargestFactor = 1e6;
  check_range("crop scale", options.crop_scale, 1);
  check_range("crop ratio", options.crop_ratio, kLargestRatio);
  check_probability("horizontal flip", options.horizontal_flip);
  check_probability("color jitter probability", options.color_jitter_probability);
  check_probability("grayscale probability", options.grayscale_probability);
  constexpr std::array<const char*, 4> kNames = {"brightness", "contrast", "saturation", "hue"};
  for (size_t i = 0; i < 4; ++i) {
    const double largest = i == 3 ? 0.5 : kLargestFactor;
    const double strength = options.color_jitter[i];
    CANTILEVER_CHECK(strength >= 0 && strength <= largest, "color jitter: ", kNames[i], " ",
                     strength, " is outside 0 to ", largest);
  }
}

AugmentationChoice draw_augmentation(const AugmentationDraw& draw, int width, int height) {
  check_augmentation(draw.options);
  CANTILEVER_CHECK(width > 0 && height > 0, "a picture of ", width, " x ", height,
                   " pixels cannot be cropped");
  const AugmentationOptions& options = draw.options;
  AugmentationChoice choice;
  if (options.random_resized_crop) choose_crop(draw, width, height, choice);
  const auto flags = draw_block(draw.key, Place::kFlags);
  choice.flips = unit(flags[0]) < options.horizontal_flip;
  choice.jitters = jitters(options) && unit(flags[1]) < options.color_jitter_probability;
  choice.grey = unit(flags[2]) < options.grayscale_probability;
  if (choice.jitters) choose_jitter(draw, choice);
  return choice;
}

}  // namespace cantilever
