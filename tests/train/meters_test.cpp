#include "cantilever/train/meters.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace cantilever {
namespace {

// Python: round(2.675, 2) is 2.67, round(0.5, 0) is 0.0, round(1.0005, 3) is 1.0.
TEST(RoundDecimals, IsPythonsRound) {
  EXPECT_EQ(round_decimals(2.675, 2), 2.67);
  EXPECT_EQ(round_decimals(0.5, 0), 0.0);
  EXPECT_EQ(round_decimals(1.5, 0), 2.0);
  EXPECT_EQ(round_decimals(12345.67885, 4), 12345.6789);
  EXPECT_EQ(round_decimals(1.0005, 3), 1.0);
  EXPECT_TRUE(std::isnan(round_decimals(std::nan(""), 3)));
  EXPECT_EQ(round_decimals(std::numeric_limits<double>::max(), 3),
            std::numeric_limits<double>::max());
}

TEST(SpeedMetrics, KeysAndDigits) {
  const Json metrics = speed_metrics("eval", 3.0, 10, 2);
  EXPECT_EQ(
      dump_json(metrics, -1),
      R"({"eval_runtime": 3.0, "eval_samples_per_second": 3.333, "eval_steps_per_second": 0.667})");
}

TEST(LossMeter, MeanSinceTheLastLogAndTotal) {
  LossMeter meter;
  meter.start(0, 0);
  for (const float loss : {1.0F, 2.0F, 6.0F}) {
    meter.add(loss, false);
    meter.step_done();
  }
  EXPECT_EQ(meter.take_window(), 3.0);
  EXPECT_TRUE(meter.window_empty());
  meter.add(5, false);
  meter.step_done();
  EXPECT_EQ(meter.call_total(), 14.0);
}

TEST(LossMeter, ARestoredWindowGoesIntoTheMeanButNotIntoTheTotal) {
  LossMeter meter;
  meter.start(4.0F, 1);
  meter.add(2.0F, false);
  meter.step_done();
  EXPECT_EQ(meter.call_total(), 2.0);
  EXPECT_EQ(meter.take_window(), 3.0);
  EXPECT_EQ(meter.call_total(), 2.0);
}

TEST(LossMeter, NonFiniteLossesAreShownUnlessFiltered) {
  LossMeter shown;
  shown.start(0, 0);
  shown.add(1, false);
  shown.step_done();
  shown.add(std::numeric_limits<float>::quiet_NaN(), false);
  shown.step_done();
  EXPECT_TRUE(std::isnan(shown.take_window()));
  LossMeter filtered;
  filtered.start(0, 0);
  filtered.add(1, true);
  filtered.step_done();
  filtered.add(std::numeric_limits<float>::infinity(), true);
  filtered.step_done();
  EXPECT_EQ(filtered.take_window(), 0.75);  // (1 + 1 / 2) / 2, the Trainer's own arithmetic
}

TEST(Meters, RatesWithoutWarmUpAndWithoutWhatStandsAside) {
  RunTimes times;
  times.seconds = times.counted_seconds = 10;
  times.samples = 24;
  times.steps = 6;
  Json metrics = train_speed_metrics(times);
  EXPECT_EQ(metrics["train_samples_per_second"], 2.4);
  EXPECT_EQ(metrics["train_steps_per_second"], 0.6);
  times.aside_seconds = 2;
  metrics = train_speed_metrics(times);
  EXPECT_EQ(metrics["train_runtime"], 10.0);
  EXPECT_EQ(metrics["train_samples_per_second"], 3.0);
  EXPECT_EQ(metrics["train_steps_per_second"], 0.75);
  times.warmup_samples = 8;
  times.warmup_steps = 2;
  times.counted_seconds = 4;
  metrics = train_speed_metrics(times);
  EXPECT_EQ(metrics["train_runtime"], 10.0);
  EXPECT_EQ(metrics["train_samples_per_second"], 8.0);
  EXPECT_EQ(metrics["train_steps_per_second"], 2.0);
}

}  // namespace
}  // namespace cantilever
