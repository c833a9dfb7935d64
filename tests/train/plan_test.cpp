#include "cantilever/train/plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "cantilever/base/error.h"

namespace cantilever {
namespace {

using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

TrainOptions options_of(int64_t batch, int64_t accumulation, double epochs) {
  TrainOptions options;
  options.per_device_train_batch_size = batch;
  options.gradient_accumulation_steps = accumulation;
  options.num_train_epochs = epochs;
  return options;
}

// Numbers of the Trainer: 30 rows in batches of 8 for 2 epochs.
TEST(Plan, CountsStepsAsTheTrainer) {
  const TrainingPlan plan = make_plan(options_of(8, 1, 2), 30);
  EXPECT_EQ(plan.batches_per_epoch, 4);
  EXPECT_EQ(plan.updates_per_epoch, 4);
  EXPECT_EQ(plan.max_steps, 8);
  EXPECT_EQ(plan.num_train_epochs, 2);
  EXPECT_DOUBLE_EQ(plan.planned_samples, 60);
  EXPECT_DOUBLE_EQ(plan.epoch_after(0, 0), 0.25);
  EXPECT_DOUBLE_EQ(plan.epoch_after(1, 3), 2.0);
}

TEST(Plan, AnEpochMayEndInsideAnAccumulationWindow) {
  const TrainingPlan plan = make_plan(options_of(4, 3, 2), 38);  // 10 batches: 3 + 3 + 3 + 1
  EXPECT_EQ(plan.batches_per_epoch, 10);
  EXPECT_EQ(plan.updates_per_epoch, 4);
  EXPECT_EQ(plan.micro_batches(0), 3);
  EXPECT_EQ(plan.micro_batches(2), 3);
  EXPECT_EQ(plan.micro_batches(3), 1);
  EXPECT_DOUBLE_EQ(plan.epoch_after(0, 2), 0.9);
  EXPECT_DOUBLE_EQ(plan.epoch_after(0, 3), 1.0);
}

TEST(Plan, FractionsOfEpochsAndMaxSteps) {
  EXPECT_EQ(make_plan(options_of(8, 1, 1.3), 30).max_steps, 6);  // ceil(1.3 * 4)
  EXPECT_EQ(make_plan(options_of(8, 1, 1.3), 30).num_train_epochs, 2);
  TrainOptions options = options_of(8, 2, 3);
  options.max_steps = 5;
  const TrainingPlan plan = make_plan(options, 30);
  EXPECT_EQ(plan.max_steps, 5);
  EXPECT_EQ(plan.num_train_epochs, 3);
  EXPECT_DOUBLE_EQ(plan.planned_samples, 80);
  options.dataloader_drop_last = true;
  EXPECT_EQ(make_plan(options, 30).batches_per_epoch, 3);
}

TEST(Plan, IntervalsBelowOneAreRatiosOfAllSteps) {
  TrainOptions options = options_of(8, 1, 2);
  options.logging_steps = 0.3;  // of 8 steps: 2.4, so 3
  options.save_steps = 1;
  options.eval_strategy = "steps";
  const TrainingPlan plan = make_plan(options, 30);
  EXPECT_EQ(plan.logging.steps, 3);
  EXPECT_EQ(plan.evaluation.steps, 3);  // default: logging_steps
  EXPECT_EQ(dump_json(plan.saving.given, -1), "1.0");
  EXPECT_EQ(dump_json(make_plan(options_of(8, 1, 2), 30).logging.given, -1), "500");
}

// Trainer.set_initial_training_values: only a negative number leaves the steps to the epochs, and
// the Trainer stops after the first step.
TEST(Plan, NoStepsAreOneStep) {
  TrainOptions options = options_of(4, 1, 2);
  options.max_steps = 0;
  const TrainingPlan plan = make_plan(options, 12);
  EXPECT_EQ(plan.max_steps, 0);
  EXPECT_EQ(plan.num_train_epochs, 2);
  EXPECT_DOUBLE_EQ(plan.planned_samples, 24);
  EXPECT_TRUE(flow_after_step(options, plan, 1).stop);
  options.max_steps = -7;
  EXPECT_EQ(make_plan(options, 12).max_steps, 6);
}

TEST(Plan, RefusesWhatCannotRun) {
  EXPECT_THAT([] { make_plan(options_of(8, 1, 1), 0); },
              ThrowsMessage<Error>(HasSubstr("has no rows")));
  EXPECT_THAT([] { make_plan(options_of(0, 1, 1), 5); },
              ThrowsMessage<Error>(HasSubstr("per_device_train_batch_size is 0")));
  TrainOptions options = options_of(8, 1, 1);
  options.dataloader_drop_last = true;
  EXPECT_THAT([&] { make_plan(options, 5); },
              ThrowsMessage<Error>(HasSubstr("fewer than one batch of 8")));
  options = options_of(8, 1, 1);
  options.logging_steps = 0;
  EXPECT_THAT([&] { make_plan(options, 9); },
              ThrowsMessage<Error>(HasSubstr("--logging_steps is 0")));
  options.logging_steps = 2.5;
  EXPECT_THAT([&] { make_plan(options, 9); },
              ThrowsMessage<Error>(HasSubstr("whole number of steps")));
  options.logging_steps = 1;
  options.save_strategy = "sometimes";
  EXPECT_THAT([&] { make_plan(options, 9); },
              ThrowsMessage<Error>(HasSubstr("--save_strategy is 'sometimes'")));
}

TEST(Plan, RefusesWhatCannotBeCounted) {
  constexpr int64_t kLargest = std::numeric_limits<int64_t>::max();
  const auto expect_error = [](const TrainOptions& options, const char* text) {
    EXPECT_THAT([&] { make_plan(options, 30); }, ThrowsMessage<Error>(HasSubstr(text)));
  };
  expect_error(options_of(8, kLargest, 1), "--gradient_accumulation_steps is 9223372036854775807");
  TrainOptions options = options_of(kLargest, 1, 1);
  options.dataloader_drop_last = true;
  expect_error(options, "--per_device_train_batch_size is 9223372036854775807");
  expect_error(options_of(8, 1, 1e19), "--num_train_epochs is 1e+19");
  options = options_of(8, 1, 1);
  options.max_steps = kLargest;
  expect_error(options, "--max_steps is 9223372036854775807");
  options = options_of(8, 1, 1);
  options.save_steps = 1e20;
  expect_error(options, "--save_steps is 1e+20");
  // The largest numbers that are taken.
  options = options_of(2147483647, 2147483647, 1);
  options.max_steps = 2147483647;
  const TrainingPlan plan = make_plan(options, 30);
  EXPECT_EQ(plan.updates_per_epoch, 1);
  EXPECT_EQ(plan.micro_batches(0), 1);
  EXPECT_EQ(plan.num_train_epochs, 2147483647);
  EXPECT_NEAR(plan.planned_samples, 9.9035203e27, 1e21);
}

TEST(Flow, StepsAndTheLastStep) {
  TrainOptions options = options_of(8, 1, 2);
  options.logging_steps = 3;
  options.save_steps = 4;
  options.eval_strategy = "steps";
  options.eval_steps = 5;
  options.eval_delay = 6;
  options.logging_first_step = true;
  const TrainingPlan plan = make_plan(options, 30);
  EXPECT_TRUE(flow_after_step(options, plan, 1).log);
  EXPECT_FALSE(flow_after_step(options, plan, 2).log);
  EXPECT_TRUE(flow_after_step(options, plan, 3).log);
  EXPECT_TRUE(flow_after_step(options, plan, 4).save);
  EXPECT_FALSE(flow_after_step(options, plan, 5).evaluate);  // before the delay
  const Flow last = flow_after_step(options, plan, 8);
  EXPECT_TRUE(last.stop && last.save && last.evaluate);
  options.save_strategy = "no";
  EXPECT_FALSE(flow_after_step(options, plan, 8).save);
}

TEST(Flow, Epochs) {
  TrainOptions options;
  options.logging_strategy = options.eval_strategy = options.save_strategy = "epoch";
  options.eval_delay = 1.5;
  EXPECT_TRUE(flow_after_epoch(options, 1).log);
  EXPECT_TRUE(flow_after_epoch(options, 1).save);
  EXPECT_FALSE(flow_after_epoch(options, 1).evaluate);
  EXPECT_TRUE(flow_after_epoch(options, 2).evaluate);
}

}  // namespace
}  // namespace cantilever
