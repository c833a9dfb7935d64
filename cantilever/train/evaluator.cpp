#include "cantilever/train/evaluator.h"

#include <ATen/core/grad_mode.h>

#include <cmath>
#include <limits>

#include "cantilever/base/error.h"
#include "cantilever/base/log.h"
#include "cantilever/data/batch_tensors.h"
#include "cantilever/train/meters.h"
#include "cantilever/train/picture_cache.h"

namespace cantilever {
namespace {

double batch_loss(BridgeTowerForContrastiveLearning& model, const Batch& batch) {
  const BatchTensors inputs = to_tensors(batch);
  ForwardContext context;
  const ContrastiveOutput output =
      model.forward(inputs.pixel_values, inputs.input_ids, inputs.attention_mask, context);
  return static_cast<double>(output.loss.item<float>());
}

}  // namespace

double mean_loss(const std::vector<std::pair<int64_t, double>>& batches, bool filter) {
  double sum = 0, all_sum = 0;
  int64_t rows = 0, all_rows = 0;
  for (const auto& [count, loss] : batches) {
    all_sum += static_cast<double>(count) * loss;
    all_rows += count;
    if (!std::isfinite(loss)) continue;
    sum += static_cast<double>(count) * loss;
    rows += count;
  }
  if (filter && rows > 0) return sum / static_cast<double>(rows);
  if (all_rows == 0) return std::numeric_limits<double>::quiet_NaN();
  return all_sum / static_cast<double>(all_rows);
}

std::optional<EvaluationResult> evaluate_split(const TrainOptions& options, const Workbench& bench,
                                               const std::string& split,
                                               const EvaluationOptions& evaluation) {
  const auto source = bench.split(split);
  LoaderOptions chosen = loader_options(options, bench, false);
  const CacheDecision cache =
      decide_cache(options, {split, source->size(), chosen.transform.side, false, 1});
  chosen.cache = cache.options;
  if (chosen.cache.tier != CacheTier::kOff) log_info(cache.reason);
  BatchLoader loader(source, bench.tokenizer, chosen);
  const int64_t total = loader.batches_per_epoch();
  CANTILEVER_CHECK(total > 0, "the ", split, " split has ", source->size(),
                   " rows, fewer than one batch, and --dataloader_drop_last drops them all");
  const c10::AutoGradMode no_grad(false);
  const StopWatch watch;
  loader.seek(0, 0);
  std::vector<std::pair<int64_t, double>> losses;
  for (int64_t index = 0; index < total; ++index) {
    if (evaluation.should_stop && evaluation.should_stop()) return std::nullopt;
    const Batch& batch = loader.next();
    losses.emplace_back(batch.size, batch_loss(*bench.model, batch));
    if (!std::isfinite(losses.back().second)) {
      warn_once(concat("evaluation loss of ", split),
                concat("the loss of batch ", index, " of the ", split, " split is ",
                       losses.back().second));
    }
    if (evaluation.progress) evaluation.progress(index + 1, total);
  }
  EvaluationResult result;
  result.rows = source->size();
  const std::string& prefix = evaluation.prefix;
  result.metrics[prefix + "_loss"] = mean_loss(losses, evaluation.logging_nan_inf_filter);
  if (evaluation.preparation_seconds) {
    result.metrics[prefix + "_model_preparation_time"] =
        round_decimals(*evaluation.preparation_seconds, 4);
  }
  const Json speed =
      speed_metrics(prefix, watch.seconds(), static_cast<double>(result.rows),
                    std::ceil(static_cast<double>(result.rows) /
                              static_cast<double>(options.per_device_eval_batch_size)));
  for (const auto& [key, value] : speed.items()) result.metrics[key] = value;
  result.bad_samples = loader.bad_samples();
  return result;
}

}  // namespace cantilever
