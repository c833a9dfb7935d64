#pragma once

#include <chrono>
#include <cstdint>

#include "cantilever/io/json.h"

namespace cantilever {

// Python's round(value, digits): the nearest decimal of the binary value.
double round_decimals(double value, int digits);

class StopWatch {
 public:
  StopWatch() : start_(Clock::now()) {}
  double seconds() const { return std::chrono::duration<double>(Clock::now() - start_).count(); }

 private:
  using Clock = std::chrono::steady_clock;
  Clock::time_point start_;
};

// transformers.trainer_utils.speed_metrics: SPLIT_runtime and the two rates, rounded as there.
Json speed_metrics(const std::string& split, double seconds, double samples, double steps);

// What the rates of train_results.json are made of.
struct RunTimes {
  double seconds = 0;  // of the whole call
  double samples = 0, steps = 0;
  // Left out of the rates: what came before `counted_seconds` began (--throughput_warmup_steps),
  // and seconds after that in which nothing was trained (--adjust_throughput).
  double warmup_samples = 0, warmup_steps = 0;
  double counted_seconds = 0;  // = seconds without warm-up
  double aside_seconds = 0;
};

// train_runtime of the whole call and the two rates without what is left out.
Json train_speed_metrics(const RunTimes& times);

// The Trainer's running loss: a float32 sum of micro-batch losses (each already divided by the
// micro-batches of its step) since the last log, and the float64 total of what was logged.
class LossMeter {
 public:
  // At the start of a call; `window` and `window_steps` continue the log window of a checkpoint.
  // They do not count for the call's total.
  void start(float window, int64_t window_steps);

  // filter: a non-finite loss is replaced by the mean of the window so far
  // (--logging_nan_inf_filter).
  void add(float micro_batch_loss, bool filter);
  void step_done() { ++window_steps_; }

  bool window_empty() const { return window_steps_ == 0; }
  // Mean per step since the last log; begins a new window.
  double take_window();
  // Sum over all steps of this call (train_loss is this by the steps of the call).
  double call_total() const { return total_ + static_cast<double>(window_); }

  float window() const { return window_; }
  int64_t window_steps() const { return window_steps_; }

 private:
  float window_ = 0;
  int64_t window_steps_ = 0;
  double total_ = 0;
};

}  // namespace cantilever
