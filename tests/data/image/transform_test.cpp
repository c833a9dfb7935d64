#include "cantilever/data/image/transform.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "cantilever/data/image/resample_axis.h"
#include "tests/data/image/support.h"

namespace cantilever::test {
namespace {

std::vector<float> transformed(const DecodedImage& image, const TransformOptions& options) {
  TransformScratch scratch;
  std::vector<float> out(static_cast<size_t>(3 * options.side * options.side));
  transform_image(image.view(), options, scratch, out);
  return out;
}

TEST(PixelSemanticsNames, GoThereAndBack) {
  for (const char* name :
       {"reference", "tv-float-aa", "tv-float-noaa", "tv-u8", "pil-u8", "hf-processor"}) {
    EXPECT_STREQ(pixel_semantics_name(parse_pixel_semantics(name)), name);
  }
  try {
    parse_pixel_semantics("pil");
    FAIL();
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), testing::HasSubstr("'pil'"));
    EXPECT_THAT(
        error.what(),
        testing::HasSubstr("reference, tv-float-aa, tv-float-noaa, tv-u8, pil-u8, hf-processor"));
  }
}

TEST(PixelSemanticsNames, ReferenceDependsOnHowThePictureWasGiven) {
  EXPECT_EQ(resolve(PixelSemantics::kReference, true), PixelSemantics::kTvU8);
  EXPECT_EQ(resolve(PixelSemantics::kReference, false), PixelSemantics::kTvFloatAa);
  EXPECT_EQ(resolve(PixelSemantics::kTvU8, false), PixelSemantics::kTvU8);
  EXPECT_EQ(resolve(PixelSemantics::kTvFloatAa, true), PixelSemantics::kTvFloatAa);
}

TEST(Transform, AFlatPictureStaysFlat) {
  DecodedImage image = synthetic_picture(53, 51);
  for (size_t i = 0; i < image.pixels.size(); ++i) {
    image.pixels[i] = static_cast<uint8_t>(60 + 70 * (i % 3));
  }
  for (const auto semantics : kConcreteSemantics) {
    TransformOptions options;
    options.side = 32;
    options.semantics = semantics;
    const std::vector<float> out = transformed(image, options);
    for (size_t i = 0; i < out.size(); ++i) {
      const size_t c = i / 1024;
      const float level = static_cast<float>(60 + 70 * c) / 255.0F;
      EXPECT_NEAR(out[i], (level - options.mean[c]) / options.std[c], 2e-6F);
    }
  }
}

// Float keeps what overshoots at a hard edge, bytes are cut to 0..255.
TEST(Transform, OvershootIsKeptInFloatAndCutInBytes) {
  DecodedImage image = synthetic_picture(20, 20);
  for (size_t i = 0; i < image.pixels.size(); ++i) image.pixels[i] = i / 60 < 10 ? 0 : 255;
  TransformOptions options;
  options.side = 48;
  options.mean = {0, 0, 0};
  options.std = {1, 1, 1};
  const std::vector<float> floats = transformed(image, options);
  EXPECT_LT(*std::min_element(floats.begin(), floats.end()), -0.03F);
  EXPECT_GT(*std::max_element(floats.begin(), floats.end()), 1.03F);
  options.semantics = PixelSemantics::kTvU8;
  const std::vector<float> bytes = transformed(image, options);
  EXPECT_EQ(*std::min_element(bytes.begin(), bytes.end()), 0.0F);
  EXPECT_EQ(*std::max_element(bytes.begin(), bytes.end()), 1.0F);
}

TEST(Transform, ScratchOfOnePictureServesTheNext) {
  TransformScratch scratch;
  TransformOptions options;
  options.side = 24;
  std::vector<float> again(3 * 24 * 24);
  for (const auto& [width, height] :
       {std::pair(70, 50), std::pair(9, 120), std::pair(24, 24), std::pair(70, 50)}) {
    const DecodedImage image = synthetic_picture(width, height);
    transform_image(image.view(), options, scratch, again);
    EXPECT_EQ(again, transformed(image, options)) << width;
  }
}

// A long side of 2^27 samples after resizing: only the crop is computed.
TEST(Transform, ExtremeAspectRatiosCostOnlyTheCrop) {
  TransformOptions options;
  options.side = 288;
  for (const bool tall : {false, true}) {
    DecodedImage image;
    image.width = tall ? 1 : 500000;
    image.height = tall ? 500000 : 1;
    image.pixels.resize(500000 * 3);
    for (size_t i = 0; i < image.pixels.size(); ++i) image.pixels[i] = static_cast<uint8_t>(i / 3);
    const std::vector<float> out = transformed(image, options);
    EXPECT_TRUE(std::all_of(out.begin(), out.end(), [](float v) { return std::isfinite(v); }));
  }
}

TEST(Transform, BadArgumentsAreNamed) {
  const DecodedImage image = synthetic_picture(4, 4);
  TransformScratch scratch;
  std::vector<float> out(3 * 4 * 4);
  TransformOptions options;
  options.side = 4;
  EXPECT_THROW(transform_image({}, options, scratch, out), Error);
  options.side = 5;
  EXPECT_THROW(transform_image(image.view(), options, scratch, out), InternalError);
  options.side = 0;
  EXPECT_THROW(transform_image(image.view(), options, scratch, out), Error);
  options.side = 4;
  options.semantics = PixelSemantics::kReference;
  EXPECT_THROW(transform_image(image.view(), options, scratch, out), InternalError);
}

TEST(ResampleAxis, WeightsOfAnOutputAddUpToOne) {
  for (const ResampleWindow& window :
       {ResampleWindow{640, 384, 48, 288}, ResampleWindow{3, 300, 6, 288},
        ResampleWindow{5000, 64, 0, 64}, ResampleWindow{1, 288, 0, 288}}) {
    ResampleAxis axis;
    compute_resample_axis(window, axis);
    for (int64_t i = 0; i < window.count; ++i) {
      const float* first = axis.weights.data() + i * axis.taps;
      const int length = axis.length[static_cast<size_t>(i)];
      ASSERT_GE(length, 1);
      EXPECT_NEAR(std::accumulate(first, first + length, 0.0), 1.0, 1e-6);
      EXPECT_GE(axis.start[static_cast<size_t>(i)], 0);
      EXPECT_LE(axis.start[static_cast<size_t>(i)] + length, window.in);
    }
  }
}

TEST(ResampleAxis, TheCacheForgetsTheOldestAndAnswersRight) {
  ResampleAxisCache cache;
  for (int round = 0; round < 2; ++round) {
    for (int64_t in = 10; in < 80; ++in) {
      const ResampleWindow window = {in, 40, 4, 32};
      ResampleAxis expected;
      compute_resample_axis(window, expected);
      const ResampleAxis& found = cache.get(window);
      EXPECT_EQ(found.weights, expected.weights);
      EXPECT_EQ(found.start, expected.start);
      EXPECT_EQ(&found, &cache.get(window));
    }
  }
}

}  // namespace
}  // namespace cantilever::test
