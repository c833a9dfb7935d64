// Against what Pillow 13, torchvision 0.26 and Transformers 5.24 made, see
// make_transform_golden.py.

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <cstring>

#include "cantilever/data/image/color_jitter.h"
#include "cantilever/data/image/transform.h"
#include "tests/data/image/support.h"

namespace cantilever::test {
namespace {

TEST(Golden, DecodedPicturesEqualPillow) {
  GoldenReader golden("decode.bin");
  const int count = golden.number();
  for (int i = 0; i < count; ++i) {
    const std::string name(golden.block());
    SCOPED_TRACE(name);
    const Bytes encoded = to_bytes(golden.block());
    DecodeOptions options;
    options.apply_exif_orientation = golden.number() != 0;
    const DecodedImage image = decode_image(encoded, options);
    const int width = golden.number();
    const int height = golden.number();
    ASSERT_EQ(image.width, width);
    ASSERT_EQ(image.height, height);
    const std::string_view pixels = golden.take(static_cast<size_t>(width * height * 3));
    EXPECT_EQ(0, std::memcmp(image.pixels.data(), pixels.data(), pixels.size()));
  }
  EXPECT_GE(count, 20);
  EXPECT_TRUE(golden.at_end());
}

constexpr std::array kSemanticsOfGolden = {PixelSemantics::kTvFloatAa, PixelSemantics::kTvU8,
                                           PixelSemantics::kTvFloatNoaa, PixelSemantics::kPilU8,
                                           PixelSemantics::kHfProcessor};

// About 0.0003 of a level for floats; whole levels are equal or a level off.
float tolerance(PixelSemantics semantics) {
  return semantics == PixelSemantics::kTvFloatNoaa ? 2e-5F : 0.0F;
}

TEST(Golden, TransformedPicturesEqualTheLibraries) {
  GoldenReader golden("transform.bin");
  const int count = golden.number();
  TransformScratch scratch;
  std::array<int, 5> cases = {};
  for (int i = 0; i < count; ++i) {
    const int width = golden.number();
    const int height = golden.number();
    TransformOptions options;
    options.side = golden.number();
    const auto index = static_cast<size_t>(golden.number());
    options.semantics = kSemanticsOfGolden.at(index);
    ++cases[index];
    SCOPED_TRACE(concat(width, " x ", height, " to ", options.side, ", ",
                        pixel_semantics_name(options.semantics)));
    const DecodedImage image = synthetic_picture(width, height);
    std::vector<float> expected(static_cast<size_t>(3 * options.side * options.side));
    std::memcpy(expected.data(), golden.take(expected.size() * 4).data(), expected.size() * 4);
    std::vector<float> found(expected.size());
    transform_image(image.view(), options, scratch, found);
    float largest = 0.0F;
    for (size_t k = 0; k < found.size(); ++k) {
      largest = std::max(largest, std::abs(found[k] - expected[k]));
    }
    EXPECT_LE(largest, tolerance(options.semantics));
  }
  EXPECT_TRUE(golden.at_end());
  EXPECT_EQ(cases, (std::array<int, 5>{13, 13, 13, 13, 7}));
}

// What torchvision's adjust_* make of a picture, given the factor.
TEST(Golden, ColourChangesEqualTorchvision) {
  GoldenReader golden("colour.bin");
  const int count = golden.number();
  constexpr int kWidth = 13;
  constexpr int kHeight = 11;
  constexpr size_t kPlane = size_t{kWidth} * kHeight;
  const DecodedImage image = synthetic_picture(kWidth, kHeight);
  for (int i = 0; i < count; ++i) {
    const auto operation = static_cast<size_t>(golden.number());
    double factor = 0;
    std::memcpy(&factor, golden.take(sizeof(factor)).data(), sizeof(factor));
    SCOPED_TRACE(concat("operation ", operation, ", factor ", factor));
    AugmentationChoice choice;
    choice.grey = operation == 4;
    choice.jitters = !choice.grey;
    if (choice.jitters) {
      choice.used[operation] = true;
      choice.factor[operation] = factor;
    }
    std::vector<uint8_t> levels(3 * kPlane);
    std::vector<float> fractions(3 * kPlane);
    for (size_t k = 0; k < 3 * kPlane; ++k) {
      levels[k] = image.pixels[k % kPlane * 3 + k / kPlane];
      fractions[k] = static_cast<float>(levels[k]) / 255.0F * 1.2F - 0.1F;
    }
    apply_colour_changes(choice, levels.data(), kPlane);
    apply_colour_changes(choice, fractions.data(), kPlane);
    const std::string_view expected_levels = golden.take(3 * kPlane);
    std::vector<float> expected(3 * kPlane);
    std::memcpy(expected.data(), golden.take(expected.size() * 4).data(), expected.size() * 4);
    for (size_t k = 0; k < 3 * kPlane; ++k) {
      ASSERT_EQ(levels[k], static_cast<uint8_t>(expected_levels[k])) << k;
      ASSERT_NEAR(fractions[k], expected[k], 2e-6F) << k;
    }
  }
  EXPECT_GE(count, 15);
  EXPECT_TRUE(golden.at_end());
}

}  // namespace
}  // namespace cantilever::test
