#include "cantilever/cli/flag_tables.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <map>
#include <set>

#include "cantilever/base/file.h"
#include "cantilever/cli/command.h"
#include "cantilever/cli/help.h"
#include "cantilever/optim/schedule.h"

namespace cantilever {
namespace {

namespace fs = std::filesystem;

// Defaults that differ from transformers.TrainingArguments on purpose, with the reason.
const std::map<std::string, std::string> kOtherDefaults = {
    {"logging_nan_inf_filter", "hides a diverged run; False as in GaudiTrainingArguments"},
    {"report_to", "a list of one word here, a word there"},
    {"debug", "a switch here"},
};

bool equal_default(const Json& ours, const Json& theirs) {
  if (ours.is_number() && theirs.is_number()) return ours.get<double>() == theirs.get<double>();
  return ours == theirs;
}

TEST(TrainFlags, EveryTrainingArgumentStandsInTheTableWithItsDefault) {
  const Json golden =
      read_json(fs::path(CANTILEVER_TEST_ROOT) / "cli/training_arguments_5_24.json");
  ASSERT_EQ(golden["arguments"].size(), 114);
  size_t exceptions = 0;
  for (const Json& argument : golden["arguments"]) {
    const auto name = argument["name"].get<std::string>();
    const Flag* flag = train_flag_table().find(name);
    ASSERT_NE(flag, nullptr) << name;
    EXPECT_EQ(flag->name, name) << "an alias would hide that its default differs";
    if (equal_default(flag->default_value, argument["default"])) continue;
    EXPECT_TRUE(kOtherDefaults.contains(name))
        << name << ": " << flag->default_value.dump() << " here, " << argument["default"].dump();
    ++exceptions;
  }
  EXPECT_EQ(exceptions, kOtherDefaults.size()) << "an exception is listed that is none";
}

TEST(TrainFlags, EveryArgumentOfTheExampleScriptStandsInTheTable) {
  for (const char* name : {"model_name_or_path",
                           "config_name",
                           "tokenizer_name",
                           "image_processor_name",
                           "cache_dir",
                           "model_revision",
                           "use_fast_tokenizer",
                           "token",
                           "use_auth_token",
                           "trust_remote_code",
                           "freeze_vision_model",
                           "freeze_text_model",
                           "freeze_text_pooler",
                           "dataset_name",
                           "dataset_config_name",
                           "dataset_revision",
                           "data_dir",
                           "image_column",
                           "caption_column",
                           "train_file",
                           "validation_file",
                           "test_file",
                           "max_seq_length",
                           "max_train_samples",
                           "max_eval_samples",
                           "overwrite_cache",
                           "preprocessing_num_workers",
                           "mediapipe_dataloader"}) {
    EXPECT_NE(train_flag_table().find(name), nullptr) << name;
  }
}

TEST(TrainFlags, ArgumentsThatTransformers5DroppedStandInTheTable) {
  for (const char* name : {"overwrite_output_dir",
                           "warmup_ratio",
                           "logging_dir",
                           "evaluation_strategy",
                           "no_cuda",
                           "save_safetensors",
                           "group_by_length",
                           "half_precision_backend",
                           "fp16_opt_level",
                           "past_index",
                           "jit_mode_eval",
                           "include_tokens_per_second",
                           "include_inputs_for_metrics",
                           "ray_scope",
                           "torchdynamo",
                           "tpu_num_cores",
                           "push_to_hub_model_id",
                           "push_to_hub_organization",
                           "push_to_hub_token",
                           "per_gpu_train_batch_size",
                           "per_gpu_eval_batch_size"}) {
    EXPECT_NE(train_flag_table().find(name), nullptr) << name;
  }
}

TEST(TrainFlags, TheSchedulesAreThoseThatTheOptimRoomKnows) {
  EXPECT_THAT(train_flag_table().find("lr_scheduler_type")->choices,
              testing::UnorderedElementsAreArray(Schedule::known_types()));
}

TEST(FlagTables, EveryFlagSaysWhatItDoesOrWhatHappensInstead) {
  for (const Command& command : commands()) {
    for (const FlagGroup& group : command.flags().groups()) {
      for (const Flag& flag : group.flags) {
        const bool works =
            flag.status != FlagStatus::kNoEffect && flag.status != FlagStatus::kRefused;
        EXPECT_FALSE((works ? flag.help : flag.note).empty()) << command.name << " " << flag.name;
        EXPECT_TRUE(flag.status != FlagStatus::kDiffers || !flag.note.empty()) << flag.name;
      }
    }
  }
}

TEST(FlagTables, EveryDefaultIsAValueThatTheFlagTakes) {
  for (const Command& command : commands()) {
    for (const FlagGroup& group : command.flags().groups()) {
      for (const Flag& flag : group.flags) {
        if (flag.default_value.is_null()) continue;
        EXPECT_NO_THROW(flag_value_from_json(flag, flag.default_value, flag.name)) << flag.name;
      }
    }
  }
}

// Steps, batches and rows are multiplied with each other, threads are an int.
TEST(TrainFlags, EveryNumberThatCountsHasALargestValue) {
  const auto refused = [](const std::string& name, const std::string& value) {
    try {
      parse_flags(train_flag_table(), {"--" + name, value});
    } catch (const UsageError& error) {
      return std::string(error.what());
    }
    return std::string("accepted");
  };
  for (const FlagGroup& group : train_flag_table().groups()) {
    for (const Flag& flag : group.flags) {
      const bool works =
          flag.status != FlagStatus::kNoEffect && flag.status != FlagStatus::kRefused;
      const bool seed = flag.name == "seed" || flag.name == "data_seed";
      if (flag.type != FlagType::kInt || !works || seed) continue;
      EXPECT_THAT(refused(flag.name, "9223372036854775807"),
                  testing::HasSubstr("is too large; the largest value is "))
          << flag.name;
    }
  }
  for (const char* name :
       {"num_train_epochs", "save_steps", "eval_steps", "logging_steps", "warmup_steps"}) {
    EXPECT_THAT(refused(name, "1e20"), testing::HasSubstr("largest value is 2147483647")) << name;
    EXPECT_THAT(refused(name, "nan"), testing::HasSubstr("is not a number")) << name;
  }
  EXPECT_THAT(refused("dataloader_num_workers", "4294967297"), testing::HasSubstr("is 1024"));
  EXPECT_THAT(refused("dataloader_num_workers", "10000"), testing::HasSubstr("is 1024"));
  EXPECT_THAT(refused("threads", "4294967297"), testing::HasSubstr("is 1024"));
  EXPECT_EQ(refused("gradient_accumulation_steps", "2147483647"), "accepted");
}

TEST(Help, NamesEveryFlagOnceAndKeepsToTheWidth) {
  for (const Command& command : commands()) {
    const std::string help = command_help(command);
    for (const FlagGroup& group : command.flags().groups()) {
      for (const Flag& flag : group.flags) {
        if (flag.suppressed) continue;
        EXPECT_THAT(help, testing::HasSubstr("--" + flag.name));
      }
    }
    EXPECT_THAT(help, testing::HasSubstr("usage: cantilever " + command.name));
    std::istringstream lines(help);
    for (std::string line; std::getline(lines, line);) EXPECT_LE(line.size(), 100U) << line;
  }
}

TEST(Help, TheCommittedPageOfFlagsIsTheTable) {
  const fs::path page = fs::path(CANTILEVER_TEST_ROOT).parent_path() / "docs/flags.md";
  EXPECT_EQ(read_file(page), flags_markdown(commands()))
      << "run `cantilever help --markdown > docs/flags.md`";
}

}  // namespace
}  // namespace cantilever
