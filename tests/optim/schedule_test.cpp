#include "cantilever/optim/schedule.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>

#include "cantilever/base/error.h"
#include "cantilever/optim/parameter_groups.h"

namespace cantilever {
namespace {

nlohmann::json golden(const char* name) {
  std::ifstream in(std::filesystem::path(CANTILEVER_TEST_ROOT) / "optim" / "goldens" / name);
  return nlohmann::json::parse(in);
}

ScheduleOptions options_of(const nlohmann::json& row) {
  const nlohmann::json& kwargs = row["kwargs"];
  ScheduleOptions options;
  options.type = row["type"];
  options.learning_rate = row["learning_rate"];
  options.warmup_steps = row["warmup_steps"];
  options.total_steps = row["total_steps"];
  options.num_cycles = kwargs.value("num_cycles", options.num_cycles);
  options.power = kwargs.value("power", options.power);
  options.lr_end = kwargs.value("lr_end", options.lr_end);
  options.min_lr = kwargs.value("min_lr", options.min_lr);
  options.min_lr_rate = kwargs.value("min_lr_rate", options.min_lr_rate);
  options.warmup_lr_rate = kwargs.value("warmup_lr_rate", options.warmup_lr_rate);
  options.timescale = kwargs.value("timescale", options.timescale);
  options.num_decay_steps = kwargs.value("num_decay_steps", options.num_decay_steps);
  options.num_stable_steps = kwargs.value("num_stable_steps", options.num_stable_steps);
  options.min_lr_ratio = kwargs.value("min_lr_ratio", options.min_lr_ratio);
  options.warmup_type = kwargs.value("warmup_type", options.warmup_type);
  options.decay_type = kwargs.value("decay_type", options.decay_type);
  return options;
}

TEST(Schedule, FollowsTransformers) {
  std::set<std::string> seen;
  for (const nlohmann::json& row : golden("schedules.json")) {
    const Schedule schedule(options_of(row));
    seen.insert(row["type"]);
    int64_t step = 0;
    for (const double expected : row["rates"]) {
      EXPECT_LE(std::abs(schedule.learning_rate(step) - expected), 1e-15 * std::abs(expected))
          << row.dump() << " step " << step;
      ++step;
    }
  }
  const auto& known = Schedule::known_types();
  EXPECT_EQ(seen, std::set<std::string>(known.begin(), known.end()));
}

std::string error_of(const ScheduleOptions& options) {
  try {
    Schedule schedule(options);
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

TEST(Schedule, NamesWhatIsWrong) {
  ScheduleOptions options;
  options.type = "lineal";
  EXPECT_THAT(error_of(options), testing::HasSubstr("'lineal'; known: linear, cosine"));
  options.type = "reduce_lr_on_plateau";
  EXPECT_THAT(error_of(options), testing::HasSubstr("follows a metric"));
  options.type = "cosine_with_min_lr";
  EXPECT_THAT(error_of(options), testing::HasSubstr("min_lr_rate"));
  options.min_lr = 1e-6;
  EXPECT_EQ(error_of(options), "no error");
  options.min_lr_rate = 0.1;
  EXPECT_THAT(error_of(options), testing::HasSubstr("exactly one"));
  options.type = "polynomial";
  options.lr_end = 1;
  EXPECT_THAT(error_of(options), testing::HasSubstr("lr_end"));
  options.type = "warmup_stable_decay";
  EXPECT_THAT(error_of(options), testing::HasSubstr("num_decay_steps"));
  options.num_decay_steps = 3;
  options.decay_type = "sudden";
  EXPECT_THAT(error_of(options), testing::HasSubstr("'sudden'"));
  options = {};
  options.learning_rate = std::nan("");
  EXPECT_THAT(error_of(options), testing::HasSubstr("learning_rate"));
}

TEST(Schedule, WarmupSteps) {
  EXPECT_EQ(resolve_warmup_steps(0, 0, 100), 0);
  EXPECT_EQ(resolve_warmup_steps(7, 0.5, 100), 7);
  EXPECT_EQ(resolve_warmup_steps(0.3, 0, 6), 2);
  EXPECT_EQ(resolve_warmup_steps(0, 0.03, 195), 6);
  EXPECT_EQ(resolve_warmup_steps(2.9, 0, 195), 2);
  EXPECT_THROW(resolve_warmup_steps(-1, 0, 10), Error);
  EXPECT_THROW(resolve_warmup_steps(0, 1.5, 10), Error);
}

TEST(ParameterGroups, FollowTransformers) {
  const nlohmann::json names = golden("decayed.json");
  ASSERT_GT(names.size(), 200U);
  for (const auto& [name, decayed] : names.items()) {
    EXPECT_EQ(is_decayed(name), decayed.get<bool>()) << name;
  }
  EXPECT_FALSE(is_decayed("a.norm.weight"));
  EXPECT_FALSE(is_decayed("a.Final_Norm.weight"));
  EXPECT_FALSE(is_decayed("encoder.RMSNorm1.weight"));
  EXPECT_TRUE(is_decayed("a.normal.weight"));
}

}  // namespace
}  // namespace cantilever
