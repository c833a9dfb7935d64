#include "cantilever/data/image/resample.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

#include "cantilever/data/image/picture_plan.h"
#include "cantilever/data/image/transform_state.h"
#include "tests/data/image/support.h"

namespace cantilever::test {
namespace {

struct Size {
  int width;
  int height;
};

// Reduced, enlarged, equal, thin, one pixel; sizes that fill no block, vector or tile.
constexpr std::array<Size, 17> kSizes = {{{1, 1},
                                          {1, 7},
                                          {7, 1},
                                          {3, 2},
                                          {20, 31},
                                          {33, 32},
                                          {32, 32},
                                          {32, 47},
                                          {63, 40},
                                          {101, 77},
                                          {77, 180},
                                          {41, 90},
                                          {400, 300},
                                          {321, 241},
                                          {1000, 37},
                                          {37, 1000},
                                          {640, 480}}};

std::vector<std::byte> resampled(const DecodedImage& image, const TransformOptions& options,
                                 PixelType type, const ResampleKernels& kernels,
                                 int rows_per_block = 0) {
  ResampleAxisCache axes;
  ResampleBuffers buffers;
  LevelTableCache tables;
  std::vector<std::byte> out(static_cast<size_t>(3 * options.side * options.side) *
                             pixel_bytes(type));
  const PicturePlan plan = plan_picture(image.width, image.height, options);
  const PictureSink sink = make_sink(options, {type, out.data()}, tables);
  PictureResampler resampler(find_sides(plan, axes), plan.left, plan.top, sink, buffers, kernels);
  const ptrdiff_t stride = ptrdiff_t{3} * image.width;
  const int step = rows_per_block == 0 ? image.height : rows_per_block;
  for (int row = 0; row < image.height; row += step) {
    resampler.push(
        {image.pixels.data() + row * stride, stride, row, std::min(step, image.height - row)});
  }
  resampler.finish();
  return out;
}

// hf-processor refuses what it would resize to nothing.
bool is_refused(const Size& size, const TransformOptions& options) {
  try {
    plan_picture(size.width, size.height, options);
    return false;
  } catch (const Error&) {
    return true;
  }
}

template <class Check>
void for_all_cases(const std::vector<int>& sides, const Check& check) {
  int cases = 0;
  for (const PixelSemantics semantics : kConcreteSemantics) {
    for (const int side : sides) {
      for (const Size& size : kSizes) {
        TransformOptions options;
        options.side = side;
        options.semantics = semantics;
        if (is_refused(size, options)) continue;
        SCOPED_TRACE(concat(size.width, " x ", size.height, " to ", side, ", ",
                            pixel_semantics_name(semantics)));
        check(synthetic_picture(size.width, size.height), options);
        if (testing::Test::HasFatalFailure()) return;
        ++cases;
      }
    }
  }
  EXPECT_GT(cases, 60);
}

TEST(ResampleKernels, PortableAndAvx2GiveTheSameBits) {
  const ResampleKernels* avx2 = avx2_resample_kernels();
  if (avx2 == nullptr) GTEST_SKIP() << "this CPU has no AVX2";
  for_all_cases({1, 8, 33, 64}, [&](const DecodedImage& image, const TransformOptions& options) {
    for (const PixelType type : {PixelType::kFloat32, PixelType::kBfloat16, PixelType::kUint8}) {
      ASSERT_EQ(resampled(image, options, type, portable_resample_kernels()),
                resampled(image, options, type, *avx2))
          << pixel_type_name(type);
    }
  });
}

TEST(PictureResampler, TheSizeOfTheBlocksDoesNotShow) {
  for_all_cases({33}, [](const DecodedImage& image, const TransformOptions& options) {
    const auto whole = resampled(image, options, PixelType::kFloat32, resample_kernels());
    for (const int rows : {1, 3, 8, 11, 16}) {
      ASSERT_EQ(whole, resampled(image, options, PixelType::kFloat32, resample_kernels(), rows))
          << rows;
    }
  });
}

// Rows and columns outside the window are poisoned, rows above it left out, the memory ends with
// it.
TEST(PictureResampler, OnlyTheWindowIsLookedAt) {
  for_all_cases({8, 32}, [](const DecodedImage& image, const TransformOptions& options) {
    ResampleAxisCache axes;
    ResampleBuffers buffers;
    LevelTableCache tables;
    std::vector<float> out(static_cast<size_t>(3 * options.side * options.side));
    const PicturePlan plan = plan_picture(image.width, image.height, options);
    const PictureSink sink = make_sink(options, {PixelType::kFloat32, out.data()}, tables);
    PictureResampler resampler(find_sides(plan, axes), plan.left, plan.top, sink, buffers);
    const ImageWindow window = resampler.window();
    ASSERT_GE(window.left, 0);
    ASSERT_GE(window.top, 0);
    ASSERT_LE(window.right, image.width);
    ASSERT_LE(window.bottom, image.height);
    const ptrdiff_t stride = ptrdiff_t{3} * image.width;
    const ptrdiff_t bytes = ptrdiff_t{3} * (window.right - window.left);
    for (int row = window.top; row < window.bottom; ++row) {
      const uint8_t* from = image.pixels.data() + row * stride + ptrdiff_t{3} * window.left;
      const std::vector<uint8_t> columns(from, from + bytes);
      resampler.push({columns.data() - ptrdiff_t{3} * window.left, bytes, row, 1});
    }
    resampler.finish();
    std::vector<float> expected(out.size());
    TransformScratch scratch;
    transform_image(image.view(), options, scratch, expected);
    ASSERT_EQ(out, expected);
  });
}

TEST(ResampleAxis, PairsHoldTheWholeWeights) {
  for (const ResampleFilter filter : {ResampleFilter::kPillow, ResampleFilter::kTorchLevels}) {
    for (const ResampleWindow& window :
         {ResampleWindow{640, 384, 48, 288, filter}, ResampleWindow{3, 300, 6, 288, filter},
          ResampleWindow{5000, 64, 0, 64, filter}, ResampleWindow{9, 9, 1, 7, filter}}) {
      ResampleAxis axis;
      compute_resample_axis(window, axis);
      for (size_t i = 0; i < static_cast<size_t>(window.count); ++i) {
        std::vector<int32_t> found(static_cast<size_t>(axis.source_end - axis.source_first) + 2);
        for (int32_t p = 0; p < axis.pair_count[i]; ++p) {
          const size_t at = i * static_cast<size_t>(axis.pair_taps) + static_cast<size_t>(p);
          for (const int half : {0, 1}) {
            const auto part = [half](int32_t pair) {
              return int32_t{static_cast<int16_t>(static_cast<uint32_t>(pair) >> (16 * half))};
            };
            const int32_t high = axis.high_pairs.empty() ? 0 : part(axis.high_pairs[at]);
            found[static_cast<size_t>(2 * (axis.pair_start[i] + p) + half)] =
                high * (1 << kLowWeightBits) + part(axis.low_pairs[at]);
          }
        }
        std::vector<int32_t> expected(found.size());
        for (int j = 0; j < axis.length[i]; ++j) {
          expected[static_cast<size_t>(axis.start[i] - axis.source_first + j)] =
              axis.whole[i * static_cast<size_t>(axis.taps) + static_cast<size_t>(j)];
        }
        ASSERT_EQ(found, expected) << i;
        const int64_t total = std::accumulate(expected.begin(), expected.end(), int64_t{0});
        EXPECT_NEAR(static_cast<double>(total) / (1 << axis.precision), 1.0, 0.001);
      }
    }
  }
}

// Without antialiasing every output looks at four samples, however much the picture shrinks.
TEST(ResampleAxis, WithoutAntialiasingThereAreFourTaps) {
  ResampleAxis axis;
  compute_resample_axis({1000, 10, 0, 10, ResampleFilter::kTorchFloatNoaa}, axis);
  EXPECT_EQ(axis.longest, 4);
  EXPECT_EQ(axis.start[0], 48);  // position 49.5
  // At the edge the missing samples are the one there.
  compute_resample_axis({4, 8, 0, 8, ResampleFilter::kTorchFloatNoaa}, axis);
  EXPECT_EQ(axis.start[0], 0);
  EXPECT_EQ(axis.length[0], 2);
  EXPECT_NEAR(axis.weights[0] + axis.weights[1], 1.0F, 1e-6F);
}

// Row 0 of a picture that is all of one colour, from sides that are nearly zero.
TEST(PicturePlan, ProcessorPadsAndRefuses) {
  TransformOptions options;
  options.semantics = PixelSemantics::kHfProcessor;
  // The longer side is capped at 479 and cut to 448, the shorter one shrinks to 149.6 and 128.
  const PicturePlan wide = plan_picture(640, 200, options);
  EXPECT_EQ(wide.columns.window.out, 448);
  EXPECT_EQ(wide.columns.window.first, 80);
  EXPECT_EQ(wide.columns.window.count, 288);
  EXPECT_EQ(wide.rows.window.out, 128);
  EXPECT_EQ(wide.rows.before, 80);
  EXPECT_EQ(wide.rows.after, 80);
  EXPECT_THROW(plan_picture(640, 20, options), Error);
}

TEST(PicturePlan, PillowShrinksTallPicturesVerticallyFirst) {
  TransformOptions options;
  options.semantics = PixelSemantics::kPilU8;
  options.side = 64;
  EXPECT_FALSE(plan_picture(100, 200, options).vertical_first);
  EXPECT_TRUE(plan_picture(100, 202, options).vertical_first);
  EXPECT_FALSE(plan_picture(10, 50, options).vertical_first);
  EXPECT_FALSE(plan_picture(300, 100, options).vertical_first);
}

}  // namespace
}  // namespace cantilever::test
