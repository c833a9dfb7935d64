// Flags of the input pipeline into options: numbers, words, sizes, what does not go together.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cantilever/base/error.h"
#include "cantilever/cli/bench_loader.h"
#include "cantilever/cli/byte_size.h"
#include "cantilever/cli/command.h"
#include "cantilever/cli/flag_tables.h"
#include "cantilever/cli/to_options.h"

namespace cantilever {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using Words = std::vector<std::string>;

TrainOptions options(const Words& more) {
  Words words = {"--output_dir", "out", "--do_train", "--model_name_or_path", "model"};
  words.insert(words.end(), more.begin(), more.end());
  return to_train_options(parse_flags(train_flag_table(), words));
}

std::string usage_error(const Words& words) {
  try {
    options(words);
  } catch (const UsageError& error) {
    return error.what();
  }
  return "no UsageError";
}

TEST(DataFlags, WorkersAreANumberOrAuto) {
  EXPECT_EQ(options({}).dataloader_num_workers, 0);
  EXPECT_EQ(options({"--dataloader_num_workers", "3"}).dataloader_num_workers, 3);
  const TrainOptions automatic = options({"--dataloader_num_workers", "auto"});
  EXPECT_EQ(automatic.dataloader_num_workers, kAutoWorkers);
  EXPECT_EQ(automatic.as_json["dataloader_num_workers"], "auto");
  EXPECT_EQ(usage_error({"--dataloader_num_workers", "many"}),
            "--dataloader_num_workers: 'many' is not a whole number or auto");
  EXPECT_THAT(usage_error({"--dataloader_num_workers", "-1"}), HasSubstr("too small"));
  EXPECT_THAT(usage_error({"--dataloader_num_workers", "Auto"}), HasSubstr("or auto"));
}

TEST(DataFlags, WorkersFromAFileOfFlags) {
  const Flag& flag = *train_flag_table().find("dataloader_num_workers");
  EXPECT_EQ(flag_value_from_json(flag, "auto", "f"), "auto");
  EXPECT_EQ(flag_value_from_json(flag, 2, "f"), 2);
  EXPECT_EQ(flag_value_from_json(flag, "2", "f"), 2);
  EXPECT_THROW(flag_value_from_json(flag, true, "f"), UsageError);
}

TEST(DataFlags, EveryNewFlagReachesItsOption) {
  const TrainOptions o =
      options({"--caption_choice", "random", "--allow_outside_paths", "--max_image_pixels", "1000",
               "--pixel_semantics", "pil-u8", "--decoded_cache", "disk", "--decoded_cache_limit",
               "2MiB", "--decoded_cache_dtype", "bf16", "--decoded_cache_dir", "d"});
  EXPECT_EQ(o.caption_choice, "random");
  EXPECT_TRUE(o.allow_outside_paths);
  EXPECT_EQ(o.max_image_pixels, 1000);
  EXPECT_EQ(o.pixel_semantics, "pil-u8");
  EXPECT_EQ((Words{o.decoded_cache, o.decoded_cache_dtype, o.decoded_cache_dir}),
            (Words{"disk", "bf16", "d"}));
  EXPECT_EQ(o.decoded_cache_limit, 2 << 20);
  EXPECT_TRUE(options({"--mediapipe_dataloader"}).mediapipe_dataloader);
  EXPECT_FALSE(options({}).mediapipe_dataloader);
  EXPECT_EQ(options({}).decoded_cache, "auto");
  EXPECT_EQ(options({}).max_image_pixels, DecodeOptions().max_pixels);
  for (const char* name :
       {"reference", "tv-float-aa", "tv-float-noaa", "tv-u8", "pil-u8", "hf-processor"}) {
    EXPECT_EQ(options({"--pixel_semantics", name}).pixel_semantics, name);
    EXPECT_NO_THROW(parse_pixel_semantics(name));
  }
}

TEST(DataFlags, AugmentationIsOffUntilAFlagTurnsItOn) {
  EXPECT_EQ(options({}).augmentation, AugmentationOptions());
  const AugmentationOptions a =
      options({"--random_resized_crop_scale", "0.4", "1", "--random_resized_crop_ratio", "0.5", "2",
               "--random_horizontal_flip", "0.5", "--color_jitter", "0.3", "0.2", "0.1", "0.05",
               "--color_jitter_prob", "0.8", "--grayscale_prob", "0.2"})
          .augmentation;
  EXPECT_TRUE(a.random_resized_crop);
  EXPECT_THAT(a.crop_scale, ElementsAre(0.4, 1));
  EXPECT_THAT(a.crop_ratio, ElementsAre(0.5, 2));
  EXPECT_THAT(a.color_jitter, ElementsAre(0.3, 0.2, 0.1, 0.05));
  EXPECT_EQ(
      (std::vector<double>{a.horizontal_flip, a.color_jitter_probability, a.grayscale_probability}),
      (std::vector<double>{0.5, 0.8, 0.2}));
}

TEST(DataFlags, ListsOfNumbersAsWordsAndFromFiles) {
  const Flag& flag = *train_flag_table().find("random_resized_crop_scale");
  EXPECT_EQ(flag_value_from_json(flag, Json::parse("[0.5, 1]"), "f"), Json::parse("[0.5, 1.0]"));
  EXPECT_EQ(flag_value_from_json(flag, Json::parse("[\"0.5\", \"1\"]"), "f"),
            Json::parse("[0.5, 1.0]"));
  EXPECT_EQ(flag_value_from_text(flag, "0.5,1", "f"), Json::parse("[0.5, 1.0]"));
  EXPECT_EQ(flag_value_from_json(flag, nullptr, "f"), nullptr);
  EXPECT_THROW(flag_value_from_json(flag, Json::parse("[0.5]"), "f"), UsageError);
  EXPECT_THROW(flag_value_from_json(flag, Json::parse("[0.5, true]"), "f"), UsageError);
  EXPECT_THROW(flag_value_from_json(flag, 0.5, "f"), UsageError);
}

TEST(DataFlags, WrongNumbersAreNamed) {
  EXPECT_EQ(usage_error({"--random_resized_crop_scale", "0.5"}),
            "--random_resized_crop_scale: '0.5' is not 2 numbers");
  EXPECT_EQ(usage_error({"--random_resized_crop_scale"}),
            "--random_resized_crop_scale: '' is not 2 numbers");
  EXPECT_THAT(usage_error({"--random_resized_crop_scale", "0.5", "1.5"}), HasSubstr("too large"));
  EXPECT_THAT(usage_error({"--random_resized_crop_scale", "1", "0.5"}), HasSubstr("is no range"));
  EXPECT_THAT(usage_error({"--random_resized_crop_scale", "0", "0.5"}), HasSubstr("is no range"));
  EXPECT_THAT(usage_error({"--random_resized_crop_scale", "a", "b"}), HasSubstr("'a b' is not"));
  EXPECT_THAT(usage_error({"--random_resized_crop_ratio", "0.5", "2"}),
              HasSubstr("belongs to --random_resized_crop_scale"));
  EXPECT_THAT(usage_error({"--color_jitter", "0.4", "0.4", "0.4"}), HasSubstr("is not 4 numbers"));
  EXPECT_THAT(usage_error({"--color_jitter", "0.4", "0.4", "0.4", "0.6"}),
              HasSubstr("a hue of 0.6 is too large; the largest value is 0.5"));
  EXPECT_THAT(usage_error({"--color_jitter", "nan", "0", "0", "0"}),
              HasSubstr("'nan' is not a number"));
  EXPECT_THAT(usage_error({"--color_jitter_prob", "0.5"}), HasSubstr("belongs to --color_jitter"));
  EXPECT_THAT(usage_error({"--random_horizontal_flip", "2"}), HasSubstr("too large"));
  EXPECT_THAT(usage_error({"--grayscale_prob", "-0.1"}), HasSubstr("too small"));
  EXPECT_THAT(usage_error({"--max_image_pixels", "0"}), HasSubstr("too small"));
  EXPECT_THAT(usage_error({"--caption_choice", "last"}), HasSubstr("auto, first, random, all"));
}

TEST(DataFlags, WhatDoesNotGoTogetherIsNamed) {
  const Words flip = {"--random_horizontal_flip", "0.5"};
  const auto with = [](Words words, const Words& more) {
    words.insert(words.end(), more.begin(), more.end());
    return words;
  };
  EXPECT_THAT(usage_error(with(flip, {"--decoded_cache", "ram"})),
              HasSubstr("--decoded_cache ram keeps finished pictures, but augmentation"));
  EXPECT_THAT(usage_error(with(flip, {"--mediapipe_dataloader"})),
              HasSubstr("--mediapipe_dataloader decodes without augmentation"));
  EXPECT_THAT(usage_error({"--mediapipe_dataloader", "--decoded_cache", "disk"}),
              HasSubstr("leave one of the two out"));
  EXPECT_THAT(usage_error({"--decoded_cache_dir", "d"}), HasSubstr("but it is auto"));
  EXPECT_EQ(usage_error(with(flip, {"--decoded_cache", "auto"})), "no UsageError");
}

TEST(ByteSizes, AreReadWithTheirUnits) {
  EXPECT_EQ(parse_byte_size("1000", "x"), 1000);
  EXPECT_EQ(parse_byte_size("500MB", "x"), 500000000);
  EXPECT_EQ(parse_byte_size("1.5 GiB", "x"), 3 * (int64_t{1} << 29));
  EXPECT_EQ(parse_byte_size("2kib", "x"), 2048);
  for (const char* wrong : {"", "GiB", "1XB", "-1", "0", "nan", "inf", "1e30", "1 2", "0.1"}) {
    try {
      parse_byte_size(wrong, "--limit");
      FAIL() << wrong;
    } catch (const UsageError& error) {
      EXPECT_THAT(error.what(),
                  HasSubstr(concat("--limit: '", wrong, "' is not a number of bytes")));
    }
  }
}

TEST(BenchLoader, ThreadListsAndMedians) {
  EXPECT_THAT(parse_thread_list("0,1,2,auto"), ElementsAre(0, 1, 2, kAutoWorkers));
  EXPECT_THAT(parse_thread_list("4"), ElementsAre(4));
  for (const char* wrong : {"", "1,", "x", "-1", "1 2", "9999"}) {
    EXPECT_THROW(parse_thread_list(wrong), UsageError) << wrong;
  }
  EXPECT_EQ(median({3, 1, 2}), 2);
  EXPECT_EQ(median({4, 1, 2, 3}), 2.5);
  EXPECT_EQ(median({}), 0);
}

TEST(DataFlags, CommandsTakeTheDataFlagsThatMeanSomethingThere) {
  for (const char* command : {"inspect", "search", "info", "verify", "bench", "train"}) {
    const FlagTable& table = find_command(command)->flags();
    for (const char* flag : {"caption_choice", "allow_outside_paths", "image_root"}) {
      EXPECT_NE(table.find(flag), nullptr) << command << " " << flag;
    }
  }
  for (const char* command : {"inspect", "search", "verify", "bench", "train"}) {
    EXPECT_NE(find_command(command)->flags().find("max_image_pixels"), nullptr) << command;
  }
  EXPECT_NE(find_command("init")->flags().find("caption_choice"), nullptr);
  EXPECT_EQ(find_command("verify")->flags().find("random_horizontal_flip"), nullptr);
}

}  // namespace
}  // namespace cantilever
