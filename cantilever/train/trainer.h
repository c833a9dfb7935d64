#pragma once

#include <filesystem>
#include <memory>
#include <vector>

#include "cantilever/train/checkpoint.h"
#include "cantilever/train/plan.h"
#include "cantilever/train/sink.h"
#include "cantilever/train/step.h"
#include "cantilever/train/trainer_state.h"
#include "cantilever/train/workbench.h"

namespace cantilever {

struct TrainingResult {
  Json metrics = Json::object();  // of train_results.json
  int stop_signal = 0;            // 0, or the signal that ended the training after a checkpoint
};

// The training loop of one process, as Trainer._inner_training_loop of Transformers 5.24.
class Trainer {
 public:
  // `checkpoint`: continue from there (the bench's model holds its weights already); empty: start.
  // Throws Error when the checkpoint does not fit.
  Trainer(const TrainOptions& options, const Workbench& bench, Sinks& sinks,
          const std::filesystem::path& checkpoint);
  ~Trainer();

  void observe(StepObserver* observer);

  // Throws Error when loss or gradient norm is not finite (unless --logging_nan_inf_filter): the
  // step is logged and not applied, trainer_state.json is written, earlier checkpoints stay as they
  // are.
  TrainingResult run();

  const TrainerState& state() const;
  const TrainingPlan& plan() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace cantilever
