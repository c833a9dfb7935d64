#pragma once

#include <cstdint>

#include "cantilever/train/options.h"

namespace cantilever {

// Every how many optimiser steps something happens. `given` is the number as trainer_state.json
// shows it (Transformers keeps 1.0 a float and turns larger numbers into integers).
struct Interval {
  int64_t steps = 0;
  Json given = 0;
};

// How many steps a run has: Trainer.set_initial_training_values and TrainerState.compute_steps of
// Transformers 5.24, one process.
struct TrainingPlan {
  int64_t rows = 0;
  int64_t batch_size = 0;         // of a micro-batch
  int64_t accumulation = 1;       // micro-batches a step; the last step of an epoch may have fewer
  int64_t batches_per_epoch = 0;  // micro-batches
  int64_t updates_per_epoch = 0;  // optimiser steps
  int64_t max_steps = 0;          // optimiser steps of the whole run
  int64_t num_train_epochs = 0;   // begun epochs
  double planned_samples = 0;     // numerator of train_samples_per_second for all max_steps
  Interval logging, evaluation, saving;

  // Micro-batches of the given step of an epoch (0-based).
  int64_t micro_batches(int64_t update) const;
  // Micro-batches of an epoch before the given step of it.
  int64_t first_micro_batch(int64_t update) const { return update * accumulation; }
  // TrainerState.epoch after the given step of the given epoch.
  double epoch_after(int64_t epoch, int64_t update) const;
};

// Throws Error: no rows, no whole batch with drop_last, batch size or accumulation below 1 or, as
// max_steps, above 2^31 - 1, more steps than a double counts,
// intervals of 0 or a fraction above 1 where their strategy needs them.
TrainingPlan make_plan(const TrainOptions& options, int64_t rows);

// What happens after a step or an epoch (DefaultFlowCallback).
struct Flow {
  bool log = false;
  bool evaluate = false;
  bool save = false;
  bool stop = false;
};
Flow flow_after_step(const TrainOptions& options, const TrainingPlan& plan, int64_t global_step);
Flow flow_after_epoch(const TrainOptions& options, double epoch);

}  // namespace cantilever
