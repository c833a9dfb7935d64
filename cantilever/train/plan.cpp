#include "cantilever/train/plan.h"

#include <cmath>

#include "cantilever/base/error.h"

namespace cantilever {
namespace {

// Products of two of these stay below 2^63.
constexpr int64_t kLargestCount = 2147483647;
// The largest double below which all whole numbers are exact.
constexpr double kMostSteps = 9007199254740992;

// A ratio below 1 is of all steps, rounded up; 1 stays a float in trainer_state.json.
Interval resolve_interval(const char* flag, double given, bool needed, int64_t max_steps) {
  CANTILEVER_CHECK(std::isfinite(given) && given >= 0, "--", flag, " is ", given,
                   ", but it must be a ratio below 1 or a whole number of steps");
  CANTILEVER_CHECK(given <= kMostSteps, "--", flag, " is ", given, ", which is too many steps");
  CANTILEVER_CHECK(!needed || given > 0, "--", flag, " is 0, but its strategy is \"steps\"");
  CANTILEVER_CHECK(!needed || given < 1 || given == std::floor(given), "--", flag, " is ", given,
                   "; above 1 it must be a whole number of steps");
  Interval interval;
  if (given < 1) {
    interval.steps = static_cast<int64_t>(std::ceil(static_cast<double>(max_steps) * given));
    interval.given = interval.steps;
  } else {
    interval.steps = static_cast<int64_t>(given);
    if (given == 1) {
      interval.given = 1.0;
    } else {
      interval.given = interval.steps;
    }
  }
  return interval;
}

void check_strategy(const char* flag, const std::string& value) {
  CANTILEVER_CHECK(value == "no" || value == "steps" || value == "epoch", "--", flag, " is ",
                   quoted(value), "; it can be no, steps or epoch");
}

void check_count(const char* flag, int64_t value, int64_t smallest) {
  CANTILEVER_CHECK(value >= smallest, "--", flag, " is ", value, ", but it must be at least ",
                   smallest);
  CANTILEVER_CHECK(value <= kLargestCount, "--", flag, " is ", value, "; at most ", kLargestCount,
                   " are possible");
}

void set_steps(const TrainOptions& options, TrainingPlan& plan) {
  const int64_t batches = plan.batches_per_epoch;
  plan.updates_per_epoch = (batches + plan.accumulation - 1) / plan.accumulation;
  if (options.max_steps > 0) {
    plan.max_steps = options.max_steps;
    plan.num_train_epochs = (plan.max_steps + plan.updates_per_epoch - 1) / plan.updates_per_epoch;
    plan.planned_samples = static_cast<double>(plan.max_steps) *
                           static_cast<double>(plan.batch_size * plan.accumulation);
    return;
  }
  CANTILEVER_CHECK(std::isfinite(options.num_train_epochs) && options.num_train_epochs >= 0,
                   "--num_train_epochs is ", options.num_train_epochs);
  const double steps =
      std::ceil(options.num_train_epochs * static_cast<double>(plan.updates_per_epoch));
  CANTILEVER_CHECK(options.num_train_epochs <= kMostSteps && steps <= kMostSteps,
                   "--num_train_epochs is ", options.num_train_epochs, ", which is ", steps,
                   " steps of this train split, too many to count");
  // TrainerState.max_steps stays 0 then, and the first step is the last (flow_after_step).
  plan.max_steps = options.max_steps == 0 ? 0 : static_cast<int64_t>(steps);
  plan.num_train_epochs = static_cast<int64_t>(std::ceil(options.num_train_epochs));
  plan.planned_samples = static_cast<double>(plan.rows) * options.num_train_epochs;
}

}  // namespace

int64_t TrainingPlan::micro_batches(int64_t update) const {
  if (update + 1 < updates_per_epoch) return accumulation;
  const int64_t rest = batches_per_epoch % accumulation;
  return rest == 0 ? accumulation : rest;
}

double TrainingPlan::epoch_after(int64_t epoch, int64_t update) const {
  const int64_t done = first_micro_batch(update) + micro_batches(update);
  return static_cast<double>(epoch) +
         static_cast<double>(done) / static_cast<double>(batches_per_epoch);
}

TrainingPlan make_plan(const TrainOptions& options, int64_t rows) {
  CANTILEVER_CHECK(rows > 0, "the train split has no rows");
  check_count("per_device_train_batch_size", options.per_device_train_batch_size, 1);
  check_count("gradient_accumulation_steps", options.gradient_accumulation_steps, 1);
  if (options.max_steps > 0) check_count("max_steps", options.max_steps, 1);
  check_strategy("logging_strategy", options.logging_strategy);
  check_strategy("eval_strategy", options.eval_strategy);
  check_strategy("save_strategy", options.save_strategy);
  TrainingPlan plan;
  plan.rows = rows;
  plan.batch_size = options.per_device_train_batch_size;
  plan.accumulation = options.gradient_accumulation_steps;
  plan.batches_per_epoch = options.dataloader_drop_last
                               ? rows / plan.batch_size
                               : (rows + plan.batch_size - 1) / plan.batch_size;
  CANTILEVER_CHECK(
      plan.batches_per_epoch > 0, "the train split has ", rows, " rows, fewer than one batch of ",
      plan.batch_size,
      ", and --dataloader_drop_last drops an incomplete batch; nothing would be trained");
  set_steps(options, plan);
  plan.logging = resolve_interval("logging_steps", options.logging_steps,
                                  options.logging_strategy == "steps", plan.max_steps);
  double eval_steps = options.eval_steps.value_or(0);
  if (eval_steps == 0) {
    eval_steps = options.eval_strategy == "steps" ? options.logging_steps : 500;
  }
  plan.evaluation =
      resolve_interval("eval_steps", eval_steps, options.eval_strategy == "steps", plan.max_steps);
  plan.saving = resolve_interval("save_steps", options.save_steps, false, plan.max_steps);
  return plan;
}

Flow flow_after_step(const TrainOptions& options, const TrainingPlan& plan, int64_t global_step) {
  const auto due = [&](const std::string& strategy, const Interval& interval) {
    return strategy == "steps" && interval.steps > 0 && global_step % interval.steps == 0;
  };
  const bool past_delay = options.eval_delay <= static_cast<double>(global_step);
  Flow flow;
  flow.log = (global_step == 1 && options.logging_first_step) ||
             due(options.logging_strategy, plan.logging);
  flow.evaluate = due(options.eval_strategy, plan.evaluation) && past_delay;
  flow.save = due(options.save_strategy, plan.saving);
  if (global_step >= plan.max_steps) {
    flow.stop = true;
    if (options.eval_strategy == "steps" && past_delay) flow.evaluate = true;
    if (options.save_strategy == "steps") flow.save = true;
  }
  return flow;
}

Flow flow_after_epoch(const TrainOptions& options, double epoch) {
  Flow flow;
  flow.log = options.logging_strategy == "epoch";
  flow.evaluate = options.eval_strategy == "epoch" && options.eval_delay <= epoch;
  flow.save = options.save_strategy == "epoch";
  return flow;
}

}  // namespace cantilever
