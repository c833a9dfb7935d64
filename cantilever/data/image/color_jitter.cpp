#include "cantilever/data/image/color_jitter.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <type_traits>

namespace cantilever {
namespace {

template <class T>
constexpr float kBound = std::is_same_v<T, uint8_t> ? 255.0F : 1.0F;

// To the type of the pixels as a tensor is converted: fractions are cut off.
template <class T>
T converted(float value) {
  return static_cast<T>(value);
}

// Its clamp to 0..bound comes first, torchvision's _blend.
template <class T>
T blended(T value, float other, float ratio, float rest) {
  const float sum = ratio * static_cast<float>(value) + rest * other;
  return converted<T>(std::clamp(sum, 0.0F, kBound<T>));
}

template <class T>
T grey_of(T red, T green, T blue) {
  return converted<T>(0.2989F * static_cast<float>(red) + 0.587F * static_cast<float>(green) +
                      0.114F * static_cast<float>(blue));
}

template <class T>
void blend_with(T* pixels, int64_t plane, double factor, float other) {
  const auto ratio = static_cast<float>(factor);
  const auto rest = static_cast<float>(1.0 - factor);
  for (int64_t i = 0; i < 3 * plane; ++i) pixels[i] = blended(pixels[i], other, ratio, rest);
}

template <class T>
void adjust_contrast(T* pixels, int64_t plane, double factor) {
  double total = 0;
  for (int64_t i = 0; i < plane; ++i) {
    total += static_cast<double>(grey_of(pixels[i], pixels[plane + i], pixels[2 * plane + i]));
  }
  blend_with(pixels, plane, factor, static_cast<float>(total / static_cast<double>(plane)));
}

template <class T>
void adjust_saturation(T* pixels, int64_t plane, double factor) {
  const auto ratio = static_cast<float>(factor);
  const auto rest = static_cast<float>(1.0 - factor);
  for (int64_t i = 0; i < plane; ++i) {
    const T grey = grey_of(pixels[i], pixels[plane + i], pixels[2 * plane + i]);
    for (int64_t c = 0; c < 3; ++c) {
      T& value = pixels[c * plane + i];
      value = blended(value, static_cast<float>(grey), ratio, rest);
    }
  }
}

// torchvision's _rgb2hsv: hue, saturation, value of one pixel.
std::array<float, 3> to_hsv(float red, float green, float blue) {
  const float largest = std::max({red, green, blue});
  const float smallest = std::min({red, green, blue});
  const bool is_grey = largest == smallest;
  const float spread = largest - smallest;
  // Beside a dark edge a float resize gives pixels whose largest value is 0 and the others below:
  // torchvision's quotient is then infinite and its result NaN. Here that pixel becomes black.
  const float quotient = spread / (is_grey ? 1.0F : largest);
  const float saturation = std::isfinite(quotient) ? quotient : 0.0F;
  const float divisor = is_grey ? 1.0F : spread;
  const float r = (largest - red) / divisor;
  const float g = (largest - green) / divisor;
  const float b = (largest - blue) / divisor;
  float hue;
  if (largest == red) {
    hue = b - g;
  } else if (largest == green) {
    hue = 2.0F + r - b;
  } else {
    hue = 4.0F + g - r;
  }
  return {std::fmod(hue / 6.0F + 1.0F, 1.0F), saturation, largest};
}

// torchvision's _hsv2rgb.
std::array<float, 3> to_rgb(float hue, float saturation, float value) {
  const float sector = std::floor(hue * 6.0F);
  const float fraction = hue * 6.0F - sector;
  const float p = std::clamp(value * (1.0F - saturation), 0.0F, 1.0F);
  const float q = std::clamp(value * (1.0F - saturation * fraction), 0.0F, 1.0F);
  const float t = std::clamp(value * (1.0F - saturation * (1.0F - fraction)), 0.0F, 1.0F);
  switch (static_cast<int>(sector) % 6) {
    case 0:
      return {value, t, p};
    case 1:
      return {q, value, p};
    case 2:
      return {p, value, t};
    case 3:
      return {p, q, value};
    case 4:
      return {t, p, value};
    default:
      return {value, p, q};
  }
}

// Python's remainder by 1: never negative.
float remainder_of_one(float value) {
  const float rest = std::fmod(value, 1.0F);
  return rest < 0 ? rest + 1.0F : rest;
}

// convert_image_dtype there and back.
template <class T>
float as_fraction(T value) {
  return std::is_same_v<T, uint8_t> ? static_cast<float>(value) / 255.0F
                                    : static_cast<float>(value);
}

template <class T>
T from_fraction(float value) {
  return std::is_same_v<T, uint8_t> ? converted<T>(value * 255.999F) : static_cast<T>(value);
}

template <class T>
void adjust_hue(T* pixels, int64_t plane, double factor) {
  const auto shift = static_cast<float>(factor);
  for (int64_t i = 0; i < plane; ++i) {
    const std::array<float, 3> hsv = to_hsv(as_fraction(pixels[i]), as_fraction(pixels[plane + i]),
                                            as_fraction(pixels[2 * plane + i]));
    const std::array<float, 3> rgb = to_rgb(remainder_of_one(hsv[0] + shift), hsv[1], hsv[2]);
    for (int64_t c = 0; c < 3; ++c) {
      pixels[c * plane + i] = from_fraction<T>(rgb[static_cast<size_t>(c)]);
    }
  }
}

template <class T>
void make_grey(T* pixels, int64_t plane) {
  for (int64_t i = 0; i < plane; ++i) {
    const T grey = grey_of(pixels[i], pixels[plane + i], pixels[2 * plane + i]);
    for (int64_t c = 0; c < 3; ++c) pixels[c * plane + i] = grey;
  }
}

template <class T>
void apply_change(ColourChange change, double factor, T* pixels, int64_t plane) {
  switch (change) {
    case ColourChange::kBrightness:
      return blend_with(pixels, plane, factor, 0.0F);
    case ColourChange::kContrast:
      return adjust_contrast(pixels, plane, factor);
    case ColourChange::kSaturation:
      return adjust_saturation(pixels, plane, factor);
    case ColourChange::kHue:
      return adjust_hue(pixels, plane, factor);
  }
}

template <class T>
void apply_all(const AugmentationChoice& choice, T* pixels, int64_t plane) {
  if (choice.jitters) {
    for (const ColourChange change : choice.order) {
      const auto i = static_cast<size_t>(change);
      if (choice.used[i]) apply_change(change, choice.factor[i], pixels, plane);
    }
  }
  if (choice.grey) make_grey(pixels, plane);
}

}  // namespace

void apply_colour_changes(const AugmentationChoice& choice, float* pixels, int64_t plane) {
  apply_all(choice, pixels, plane);
}

void apply_colour_changes(const AugmentationChoice& choice, uint8_t* pixels, int64_t plane) {
  apply_all(choice, pixels, plane);
}

}  // namespace cantilever
