// Flags to schedules.
#include "cantilever/train/learning_rate.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <set>

#include "cantilever/base/error.h"

namespace cantilever {
namespace {

using ::testing::HasSubstr;

// The rates of Transformers' get_scheduler with the same keyword arguments.
TEST(LearningRate, EveryGoldenScheduleCanBeAskedForByFlags) {
  const Json golden =
      read_json(std::filesystem::path(CANTILEVER_TEST_ROOT) / "optim/goldens/schedules.json");
  std::set<std::string> types, keys;
  for (const Json& row : golden) {
    TrainOptions options;
    options.lr_scheduler_type = row["type"].get<std::string>();
    options.lr_scheduler_kwargs = row["kwargs"];
    options.learning_rate = row["learning_rate"].get<double>();
    options.warmup_steps = row["warmup_steps"].get<double>();
    types.insert(options.lr_scheduler_type);
    for (const auto& [key, value] : row["kwargs"].items()) keys.insert(key);
    const Schedule schedule = make_schedule(options, row["total_steps"].get<int64_t>());
    int64_t step = 0;
    for (const Json& rate : row["rates"]) {
      const double expected = rate.get<double>();
      EXPECT_LE(std::abs(schedule.learning_rate(step) - expected), 1e-15 * std::abs(expected))
          << row.dump() << " step " << step;
      ++step;
    }
  }
  EXPECT_EQ(types.size(), Schedule::known_types().size());
  EXPECT_THAT(keys, ::testing::IsSupersetOf({"num_decay_steps", "timescale", "power"}));
}

std::string error_of(const std::string& type, const Json& kwargs, double warmup_steps = 0) {
  TrainOptions options;
  options.lr_scheduler_type = type;
  options.lr_scheduler_kwargs = kwargs;
  options.warmup_steps = warmup_steps;
  try {
    make_schedule(options, 10);
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

TEST(LearningRate, KeysAreThoseOfTheType) {
  EXPECT_THAT(error_of("linear", {{"power", 2}}),
              HasSubstr("has 'power', which --lr_scheduler_type 'linear' does not know; it takes "
                        "none"));
  EXPECT_THAT(error_of("cosine", {{"timescale", 3}}), HasSubstr("it takes num_cycles"));
  EXPECT_THAT(error_of("warmup_stable_decay", Json::object()), HasSubstr("num_decay_steps"));
  EXPECT_EQ(error_of("warmup_stable_decay",
                     {{"num_decay_steps", 3}, {"decay_type", "1-sqrt"}, {"min_lr_ratio", 0.1}}),
            "no error");
  EXPECT_THAT(error_of("warmup_stable_decay", {{"num_decay_steps", 3}, {"decay_type", "abrupt"}}),
              HasSubstr("'abrupt'"));
  EXPECT_EQ(error_of("cosine_with_min_lr", {{"min_lr", nullptr}, {"min_lr_rate", 0.1}}),
            "no error");
}

TEST(LearningRate, ValuesInRange) {
  EXPECT_THAT(error_of("inverse_sqrt", {{"timescale", 1e30}}), HasSubstr("from 1 to 2^53"));
  EXPECT_THAT(error_of("inverse_sqrt", {{"timescale", 0}}), HasSubstr("from 1 to 2^53"));
  EXPECT_THAT(error_of("inverse_sqrt", {{"timescale", 2.5}}), HasSubstr("from 1 to 2^53"));
  EXPECT_THAT(error_of("warmup_stable_decay", {{"num_decay_steps", "3"}}),
              HasSubstr("from 0 to 2^53"));
  EXPECT_THAT(error_of("warmup_stable_decay", {{"num_decay_steps", 3}, {"warmup_type", 1}}),
              HasSubstr("must be a text"));
  EXPECT_THAT(error_of("polynomial", {{"power", -1}}), HasSubstr("at least 0"));
  EXPECT_THAT(error_of("cosine", {{"num_cycles", true}}), HasSubstr("at least 0"));
  EXPECT_THAT(error_of("linear", Json::object(), 1e20), HasSubstr("--warmup_steps is 1e+20"));
}

}  // namespace
}  // namespace cantilever
