#include "cantilever/train/picture_cache.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cantilever/base/error.h"

namespace cantilever {
namespace {

using testing::HasSubstr;

constexpr int64_t kPicture = int64_t{3} * 10 * 10;  // u8

SplitUse use_of(int64_t rows, double passes, bool training = true) {
  return {training ? "train" : "validation", rows, 10, training, passes};
}

TEST(PictureCache, AutoIsMemoryWhenItFitsAndIsReadAgain) {
  TrainOptions options;
  options.pixel_semantics = "tv-u8";
  const CacheDecision fits = decide_cache(options, use_of(4, 3), 4 * kPicture);
  EXPECT_EQ(fits.options.tier, CacheTier::kRam);
  EXPECT_EQ(fits.options.type, PixelType::kUint8);
  EXPECT_EQ(fits.options.limit_bytes, 4 * kPicture);
  EXPECT_FALSE(fits.rounds);
  EXPECT_EQ(fits.pixel_type, "exact");
  EXPECT_EQ(fits.reason,
            "decoded cache of the train split: in memory, 4 pictures as u8, 1.2 KB of 1.2 KB "
            "allowed");

  const CacheDecision large = decide_cache(options, use_of(5, 3), 4 * kPicture);
  EXPECT_EQ(large.options.tier, CacheTier::kOff);
  EXPECT_THAT(large.reason, HasSubstr("off, it would not fit (5 pictures as u8, 1.5 KB of 1.2 KB"));
  const CacheDecision once = decide_cache(options, use_of(4, 1), 4 * kPicture);
  EXPECT_EQ(once.options.tier, CacheTier::kOff);
  EXPECT_THAT(once.reason, HasSubstr("off, every row is read once"));
}

TEST(PictureCache, AutoTypeKeepsNumbersAsTheyAre) {
  TrainOptions options;
  for (const char* name : {"tv-u8", "pil-u8"}) {
    options.pixel_semantics = name;
    EXPECT_EQ(decide_cache(options, use_of(1, 2), 1 << 20).options.type, PixelType::kUint8) << name;
  }
  for (const char* name : {"reference", "tv-float-aa", "tv-float-noaa"}) {
    options.pixel_semantics = name;
    const CacheDecision decision = decide_cache(options, use_of(1, 2), 1 << 20);
    EXPECT_EQ(decision.options.type, PixelType::kFloat32) << name;
    EXPECT_FALSE(decision.rounds);
  }
  EXPECT_THAT(decide_cache(options, use_of(9, 2), 100).reason, HasSubstr("tv-u8 takes a quarter"));
}

TEST(PictureCache, AskedForTypesThatRoundAreSaid) {
  TrainOptions options;
  options.decoded_cache = "ram";
  options.decoded_cache_dtype = "u8";
  options.pixel_semantics = "tv-float-aa";
  EXPECT_TRUE(decide_cache(options, use_of(1, 2), 1 << 20).rounds);
  EXPECT_EQ(decide_cache(options, use_of(1, 2), 1 << 20).pixel_type, "u8");
  options.pixel_semantics = "tv-u8";
  EXPECT_FALSE(decide_cache(options, use_of(1, 2), 1 << 20).rounds);
  options.decoded_cache_dtype = "bf16";
  EXPECT_TRUE(decide_cache(options, use_of(1, 2), 1 << 20).rounds);
  options.decoded_cache_dtype = "f16";
  EXPECT_THROW(decide_cache(options, use_of(1, 2), 1 << 20), Error);
}

TEST(PictureCache, RamThatDoesNotHoldAllSaysHowMany) {
  TrainOptions options;
  options.decoded_cache = "ram";
  options.pixel_semantics = "tv-u8";
  options.decoded_cache_limit = 2 * kPicture;
  const CacheDecision decision = decide_cache(options, use_of(9, 1), 1 << 20);
  EXPECT_EQ(decision.options.tier, CacheTier::kRam);
  EXPECT_EQ(decision.options.limit_bytes, 2 * kPicture);
  EXPECT_THAT(decision.reason, HasSubstr("2 pictures have a place"));
  EXPECT_THAT(decision.reason, HasSubstr("so it will not pay"));
}

TEST(PictureCache, AFileServesEvaluationToo) {
  TrainOptions options;
  options.output_dir = "out";
  options.decoded_cache = "disk";
  const CacheDecision decision = decide_cache(options, use_of(2, 1, false), 1 << 20);
  EXPECT_EQ(decision.options.tier, CacheTier::kDisk);
  EXPECT_EQ(decision.options.folder, "out/decoded_cache");
  options.decoded_cache_dir = "shared";
  EXPECT_EQ(decide_cache(options, use_of(2, 1), 1 << 20).options.folder, "shared");
  options.decoded_cache = "ram";
  EXPECT_EQ(decide_cache(options, use_of(2, 1, false), 1 << 20).options.tier, CacheTier::kOff);
}

TEST(PictureCache, AutoGivesWayToAugmentationAndDevices) {
  TrainOptions options;
  options.augmentation.horizontal_flip = 0.5;
  EXPECT_THAT(decide_cache(options, use_of(2, 9), 1 << 20).reason, HasSubstr("augmentation"));
  options.augmentation = {};
  options.mediapipe_dataloader = true;
  EXPECT_THAT(decide_cache(options, use_of(2, 9), 1 << 20).reason, HasSubstr("mediapipe"));
  options.mediapipe_dataloader = false;
  options.decoded_cache = "off";
  EXPECT_EQ(decide_cache(options, use_of(2, 9), 1 << 20).reason,
            "decoded cache of the train split: off");
}

}  // namespace
}  // namespace cantilever
