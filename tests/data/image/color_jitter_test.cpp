#include "cantilever/data/image/color_jitter.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>

namespace cantilever {
namespace {

AugmentationChoice hue_by(double factor) {
  AugmentationChoice choice;
  choice.jitters = true;
  choice.used[static_cast<size_t>(ColourChange::kHue)] = true;
  choice.factor[static_cast<size_t>(ColourChange::kHue)] = factor;
  return choice;
}

// Beside a dark edge a float resize gives values below 0, such as a largest one of 0 or less, by
// which the saturation is divided.
TEST(ColorJitter, HueOfValuesBeyondZeroAndOneIsThatOfTheNearest) {
  constexpr int64_t kPlane = 5;
  const std::array<float, 3 * kPlane> beyond = {0.0F,  -0.1F, 1.2F, -0.02F, 0.3F,    //
                                                -0.1F, 0.05F, 1.1F, -0.02F, -0.01F,  //
                                                -0.2F, -0.1F, 0.3F, -0.01F, 0.2F};
  for (const double factor : {-0.3, 0.0, 0.1}) {
    auto got = beyond, expected = beyond;
    for (float& value : expected) value = std::fmin(std::fmax(value, 0.0F), 1.0F);
    apply_colour_changes(hue_by(factor), got.data(), kPlane);
    apply_colour_changes(hue_by(factor), expected.data(), kPlane);
    for (size_t i = 0; i < got.size(); ++i) {
      EXPECT_TRUE(got[i] >= 0 && got[i] <= 1) << factor << " " << i << ": " << got[i];
      EXPECT_EQ(got[i], expected[i]) << factor << " " << i;
    }
  }
}

}  // namespace
}  // namespace cantilever
