#include "cantilever/data/image/color_jitter.h"

#include <gtest/gtest.h>

#include <array>
#include <cstdint>

namespace cantilever {
namespace {

AugmentationChoice hue_by(double factor) {
  AugmentationChoice choice;
  choice.jitters = true;
  choice.used[static_cast<size_t>(ColourChange::kHue)] = true;
  choice.factor[static_cast<size_t>(ColourChange::kHue)] = factor;
  return choice;
}

// Beside a dark edge a float resize gives values below 0; torchvision makes a NaN of a pixel whose
// largest value is 0.
TEST(ColorJitter, HueOfAPixelWhoseLargestValueIsZeroIsBlack) {
  constexpr int64_t kPlane = 3;
  for (const double factor : {-0.3, 0.0, 0.1}) {
    std::array<float, 3 * kPlane> pixels = {0.0F,  -0.1F, 1e-45F,  //
                                            -0.1F, 0.0F,  -0.1F,   //
                                            -0.2F, 0.0F,  -0.1F};
    apply_colour_changes(hue_by(factor), pixels.data(), kPlane);
    for (const float value : pixels) EXPECT_NEAR(value, 0, 1e-30F) << factor;
  }
}

}  // namespace
}  // namespace cantilever
