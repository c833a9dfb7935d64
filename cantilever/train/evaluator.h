#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cantilever/train/workbench.h"

namespace cantilever {

struct EvaluationOptions {
  std::string prefix = "eval";  // of the keys: "eval", "test"
  bool logging_nan_inf_filter = false;
  // Keys of an evaluation without training before it: PREFIX_model_preparation_time.
  std::optional<double> preparation_seconds;
  std::function<bool()> should_stop;                          // asked between batches
  std::function<void(int64_t done, int64_t total)> progress;  // in batches
};

struct EvaluationResult {
  // PREFIX_loss, PREFIX_runtime, PREFIX_samples_per_second, PREFIX_steps_per_second; no epoch.
  Json metrics;
  int64_t rows = 0;
  std::vector<BadSample> bad_samples;  // replaced under --on_bad_sample skip
};

// The loss of a split as Trainer.evaluation_loop has it: batches in order, eval mode, sum of n_b
// loss_b over the rows seen / their number; it depends on the batch size. Non-finite batch losses
// are part of the mean unless logging_nan_inf_filter is on. Nothing is kept between batches.
// Returns nullopt when should_stop said so.
std::optional<EvaluationResult> evaluate_split(const TrainOptions& options, const Workbench& bench,
                                               const std::string& split,
                                               const EvaluationOptions& evaluation);

// The mean of the above, for tests: (rows, loss) of every batch.
double mean_loss(const std::vector<std::pair<int64_t, double>>& batches, bool filter);

}  // namespace cantilever
