#pragma once

#include <cstdint>
#include <filesystem>

#include "cantilever/train/plan.h"

namespace cantilever {

// transformers.TrainerState: what trainer_state.json holds. One process, no hyper-parameter search.
struct TrainerState {
  double epoch = 0;
  int64_t global_step = 0;
  double total_flos = 0;  // of all micro-batches, also those of the runs continued
  Json log_history = Json::array();

  // Of the plan, to be shown.
  int64_t max_steps = 0;
  int64_t num_train_epochs = 0;
  int64_t train_batch_size = 0;
  Json logging_steps = 500, eval_steps = 500, save_steps = 500;

  // TrainerControl as it was when a checkpoint was last written.
  Flow saved_flow;

  void take_plan(const TrainingPlan& plan);

  // Appends a log entry: `values` with epoch and step behind them.
  void log(Json values);

  Json to_json() const;
  void save(const std::filesystem::path& path) const;
  // Throws Error with file and key.
  static TrainerState load(const std::filesystem::path& path);
};

}  // namespace cantilever
