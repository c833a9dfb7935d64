#include "cantilever/data/image/augment.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <set>

#include "cantilever/base/error.h"

namespace cantilever::test {
namespace {

constexpr int kDraws = 20000;

AugmentationDraw crop_draw(uint64_t key, std::array<double, 2> scale, std::array<double, 2> ratio) {
  AugmentationDraw draw;
  draw.key = key;
  draw.options.random_resized_crop = true;
  draw.options.crop_scale = scale;
  draw.options.crop_ratio = ratio;
  return draw;
}

bool operator_equal(const AugmentationChoice& a, const AugmentationChoice& b) {
  return a.crops == b.crops && a.left == b.left && a.top == b.top && a.width == b.width &&
         a.height == b.height && a.flips == b.flips && a.jitters == b.jitters &&
         a.order == b.order && a.factor == b.factor && a.used == b.used && a.grey == b.grey;
}

TEST(AugmentationDraw, IsAFunctionOfKeyAndSize) {
  AugmentationDraw draw = crop_draw(1, {0.3, 1}, {0.75, 4.0 / 3});
  draw.options.horizontal_flip = 0.5;
  draw.options.color_jitter = {0.4, 0.3, 0.2, 0.1};
  draw.options.grayscale_probability = 0.5;
  const AugmentationChoice first = draw_augmentation(draw, 640, 480);
  EXPECT_TRUE(operator_equal(first, draw_augmentation(draw, 640, 480)));
  std::set<std::pair<int, int>> corners;
  for (draw.key = 0; draw.key < 100; ++draw.key) {
    const AugmentationChoice choice = draw_augmentation(draw, 640, 480);
    corners.insert({choice.left, choice.top});
  }
  EXPECT_GT(corners.size(), 90U);
}

TEST(AugmentationDraw, ChangesDoNotDependOnOneAnother) {
  AugmentationDraw all = crop_draw(7, {0.3, 1}, {0.75, 4.0 / 3});
  all.options.horizontal_flip = 0.5;
  all.options.color_jitter = {0.4, 0.3, 0.2, 0.1};
  AugmentationDraw colours = all;
  colours.options.random_resized_crop = false;
  colours.options.horizontal_flip = 0;
  for (all.key = 0; all.key < 50; ++all.key) {
    colours.key = all.key;
    EXPECT_EQ(draw_augmentation(all, 64, 48).factor, draw_augmentation(colours, 64, 48).factor);
    EXPECT_EQ(draw_augmentation(all, 64, 48).order, draw_augmentation(colours, 64, 48).order);
  }
}

// Share of the area: uniform; logarithm of the ratio: uniform; corner: uniform; always inside.
TEST(AugmentationDraw, CropsAreSpreadAsTorchvisions) {
  constexpr int kWidth = 4000;
  constexpr int kHeight = 4000;
  const double low = std::log(3.0 / 4);
  const double high = std::log(4.0 / 3);
  std::array<int, 10> scales = {};
  std::array<int, 10> ratios = {};
  std::array<int, 10> lefts = {};
  const auto bin = [](double share) {
    return static_cast<size_t>(std::clamp(static_cast<int>(share * 10), 0, 9));
  };
  for (uint64_t key = 0; key < kDraws; ++key) {
    const AugmentationChoice choice =
        draw_augmentation(crop_draw(key, {0.1, 0.5}, {3.0 / 4, 4.0 / 3}), kWidth, kHeight);
    ASSERT_TRUE(choice.crops);
    ASSERT_GE(choice.left, 0);
    ASSERT_GE(choice.top, 0);
    ASSERT_LE(choice.left + choice.width, kWidth);
    ASSERT_LE(choice.top + choice.height, kHeight);
    const double area = static_cast<double>(choice.width) * choice.height;
    const double scale = area / (static_cast<double>(kWidth) * kHeight);
    const double ratio = std::log(static_cast<double>(choice.width) / choice.height);
    ASSERT_GT(scale, 0.1 - 1e-3);
    ASSERT_LT(scale, 0.5 + 1e-3);
    ASSERT_GT(ratio, low - 1e-3);
    ASSERT_LT(ratio, high + 1e-3);
    ++scales[bin((scale - 0.1) / 0.4)];
    ++ratios[bin((ratio - low) / (high - low))];
    ++lefts[bin(static_cast<double>(choice.left) / (kWidth - choice.width + 1))];
  }
  // 2,000 expected in each; five standard deviations are 212.
  for (const auto& bins : {scales, ratios, lefts}) {
    for (const int count : bins) EXPECT_NEAR(count, kDraws / 10, 220);
  }
}

// torchvision's fallback when no try fits: the largest centre crop within the ratios.
TEST(AugmentationDraw, TheFallbackIsACentreCrop) {
  const auto crop = [](int width, int height, std::array<double, 2> ratio) {
    const AugmentationChoice choice = draw_augmentation(crop_draw(3, {1, 1}, ratio), width, height);
    return std::array<int, 4>{choice.left, choice.top, choice.width, choice.height};
  };
  // The values of RandomResizedCrop.get_params.
  EXPECT_EQ(crop(1000, 10, {3.0 / 4, 4.0 / 3}), (std::array<int, 4>{493, 0, 13, 10}));
  EXPECT_EQ(crop(10, 1000, {3.0 / 4, 4.0 / 3}), (std::array<int, 4>{0, 493, 10, 13}));
  EXPECT_EQ(crop(1, 1, {2, 3}), (std::array<int, 4>{0, 0, 1, 1}));  // the height would round to 0
}

TEST(AugmentationDraw, ProbabilitiesAndFactorsAreKept) {
  AugmentationDraw draw;
  draw.options.horizontal_flip = 0.5;
  draw.options.color_jitter = {0.4, 1.5, 0, 0.1};
  draw.options.color_jitter_probability = 0.8;
  draw.options.grayscale_probability = 0.2;
  int flips = 0;
  int jitters = 0;
  int greys = 0;
  std::map<std::array<ColourChange, 4>, int> orders;
  std::array<double, 4> least = {9, 9, 9, 9};
  std::array<double, 4> most = {-9, -9, -9, -9};
  for (draw.key = 0; draw.key < kDraws; ++draw.key) {
    const AugmentationChoice choice = draw_augmentation(draw, 64, 48);
    EXPECT_FALSE(choice.crops);
    flips += choice.flips ? 1 : 0;
    greys += choice.grey ? 1 : 0;
    if (!choice.jitters) continue;
    ++jitters;
    ++orders[choice.order];
    EXPECT_EQ(choice.used, (std::array<bool, 4>{true, true, false, true}));
    for (size_t i = 0; i < 4; ++i) {
      least[i] = std::min(least[i], choice.factor[i]);
      most[i] = std::max(most[i], choice.factor[i]);
    }
  }
  EXPECT_NEAR(flips, 0.5 * kDraws, 360);
  EXPECT_NEAR(jitters, 0.8 * kDraws, 290);
  EXPECT_NEAR(greys, 0.2 * kDraws, 290);
  EXPECT_EQ(orders.size(), 24U);
  for (const auto& [order, count] : orders) EXPECT_NEAR(count, jitters / 24.0, 130);
  constexpr std::array<double, 4> kLeast = {0.6, 0, 1, -0.1};
  constexpr std::array<double, 4> kMost = {1.4, 2.5, 1, 0.1};
  for (size_t i = 0; i < 4; ++i) {
    EXPECT_GE(least[i], kLeast[i]);
    EXPECT_LE(most[i], kMost[i]);
    EXPECT_NEAR(least[i], kLeast[i], 0.001);
    EXPECT_NEAR(most[i], kMost[i], 0.001);
  }
}

TEST(AugmentationDraw, NeverAndAlwaysAreExact) {
  AugmentationDraw draw;
  draw.options.grayscale_probability = 1;
  for (draw.key = 0; draw.key < 2000; ++draw.key) {
    const AugmentationChoice choice = draw_augmentation(draw, 64, 48);
    ASSERT_TRUE(choice.grey);
    ASSERT_FALSE(choice.flips);
    ASSERT_FALSE(choice.jitters);
  }
}

TEST(AugmentationOptions, AnyTellsWhetherSomethingIsOn) {
  AugmentationOptions options;
  EXPECT_FALSE(options.any());
  options.color_jitter = {0, 0, 0, 0.1};
  EXPECT_TRUE(options.any());
  options.color_jitter_probability = 0;
  EXPECT_FALSE(options.any());
  options.horizontal_flip = 0.5;
  EXPECT_TRUE(options.any());
}

std::string refusal(const AugmentationOptions& options) {
  try {
    check_augmentation(options);
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

TEST(AugmentationOptions, BadValuesAreNamed) {
  EXPECT_EQ(refusal({}), "");
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const auto with = [](auto set) {
    AugmentationOptions options;
    set(options);
    return refusal(options);
  };
  for (const auto& scale : {std::array{0.0, 1.0}, std::array{0.5, 1.5}, std::array{0.9, 0.5},
                            std::array{nan, 1.0}, std::array{0.5, nan}}) {
    EXPECT_THAT(with([&](auto& o) { o.crop_scale = scale; }), testing::HasSubstr("crop scale"));
  }
  for (const auto& ratio : {std::array{0.0, 1.0}, std::array{-1.0, 1.0}, std::array{2.0, 1.0}}) {
    EXPECT_THAT(with([&](auto& o) { o.crop_ratio = ratio; }), testing::HasSubstr("crop ratio"));
  }
  EXPECT_THAT(with([](auto& o) { o.horizontal_flip = 1.5; }),
              testing::HasSubstr("horizontal flip 1.5"));
  EXPECT_THAT(with([](auto& o) { o.color_jitter_probability = -0.1; }),
              testing::HasSubstr("color jitter probability -0.1"));
  EXPECT_THAT(with([&](auto& o) { o.grayscale_probability = nan; }),
              testing::HasSubstr("grayscale probability"));
  EXPECT_THAT(with([](auto& o) { o.color_jitter[3] = 0.6; }), testing::HasSubstr("hue 0.6"));
  EXPECT_THAT(with([](auto& o) { o.color_jitter[1] = -1; }), testing::HasSubstr("contrast -1"));
}

}  // namespace
}  // namespace cantilever::test
