#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace cantilever {

struct ScheduleOptions {
  std::string type = "linear";  // --lr_scheduler_type
  double learning_rate = 5e-5;
  int64_t warmup_steps = 0;
  int64_t total_steps = 0;
  // --lr_scheduler_kwargs, those that the type knows; negative or empty: not given
  double num_cycles =
      -1;              // cosine 0.5, cosine_with_restarts 1, *_min_lr 0.5, warmup_stable_decay 0.5
  double power = 1.0;  // polynomial
  double lr_end = 1e-7;                // polynomial
  double min_lr = -1;                  // cosine_with_min_lr, cosine_warmup_with_min_lr
  double min_lr_rate = -1;             // the same two, instead of min_lr
  double warmup_lr_rate = -1;          // cosine_warmup_with_min_lr
  int64_t timescale = -1;              // inverse_sqrt
  int64_t num_decay_steps = -1;        // warmup_stable_decay, required
  int64_t num_stable_steps = -1;       // warmup_stable_decay; else what remains of total_steps
  double min_lr_ratio = 0;             // warmup_stable_decay
  std::string warmup_type = "linear";  // warmup_stable_decay: linear, cosine, 1-sqrt
  std::string decay_type = "cosine";   // warmup_stable_decay: linear, cosine, 1-sqrt
};

// The learning rate of the step after `steps_done` optimiser steps: Transformers' schedules in the
// same double arithmetic. Throws Error naming the type and those known, or the option that is
// missing or out of range. The two types that follow a metric (reduce_lr_on_plateau, greedy) are
// not among them.
class Schedule {
 public:
  explicit Schedule(const ScheduleOptions& options);
  double learning_rate(int64_t steps_done) const;
  static const std::vector<std::string>& known_types();

 private:
  double factor(int64_t step) const;  // of the base rate

  ScheduleOptions options_;
};

// Trainer's rule: warmup_steps when >= 1; below 1 it is a ratio of total_steps, rounded up; else
// warmup_ratio likewise.
int64_t resolve_warmup_steps(double warmup_steps, double warmup_ratio, int64_t total_steps);

}  // namespace cantilever
