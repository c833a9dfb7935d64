#include "cantilever/train/step.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "cantilever/base/rng.h"
#include "cantilever/optim/clip.h"
#include "cantilever/train/meters.h"

namespace cantilever {

double StepReport::loss() const {
  float sum = 0;
  for (const float loss : losses) sum += loss;
  return static_cast<double>(sum);
}

bool StepReport::finite() const {
  return std::isfinite(gradient_norm) &&
         std::all_of(losses.begin(), losses.end(), [](float loss) { return std::isfinite(loss); });
}

uint64_t dropout_key(uint64_t seed, int64_t step, int64_t micro_batch) {
  return mix_key(mix_key(seed, static_cast<uint64_t>(step)), static_cast<uint64_t>(micro_batch));
}

TrainStep::TrainStep(BridgeTowerForContrastiveLearning& model, FlatParameters& parameters,
                     AdamW& optimizer, const StepOptions& options)
    : model_(model), parameters_(parameters), optimizer_(optimizer), options_(options) {}

float TrainStep::forward_backward(const Batch& batch, int64_t index, int64_t micro_batches,
                                  StepReport& report) {
  StopWatch watch;
  const BatchTensors inputs = to_tensors(batch);
  ForwardContext context;
  context.training = true;
  context.dropout_key = dropout_key(options_.seed, report.step, index);
  const ContrastiveOutput output =
      model_.forward(inputs.pixel_values, inputs.input_ids, inputs.attention_mask, context);
  for (StepObserver* observer : observers_) {
    observer->micro_batch(report.step, batch, inputs, output);
  }
  const at::Tensor loss = output.loss / micro_batches;
  report.forward_seconds += watch.seconds();
  watch = StopWatch();
  loss.backward();
  report.backward_seconds += watch.seconds();
  report.samples += batch.size;
  report.input_ids += inputs.input_ids.numel();
  return loss.item<float>();
}

StepReport TrainStep::run(int64_t step, int64_t micro_batches, double learning_rate,
                          const std::function<const Batch&()>& next) {
  StepReport report;
  report.step = step;
  report.learning_rate = learning_rate;
  parameters_.zero_gradients();
  for (int64_t index = 0; index < micro_batches; ++index) {
    const StopWatch watch;
    const Batch& batch = next();
    report.data_seconds += watch.seconds();
    report.losses.push_back(forward_backward(batch, index, micro_batches, report));
  }
  for (StepObserver* observer : observers_) observer->gradients(step, parameters_);
  const StopWatch watch;
  report.gradient_norm = clip_gradient_norm(parameters_, options_.max_grad_norm);
  report.applied = report.finite() || options_.apply_non_finite;
  if (report.applied) optimizer_.step(learning_rate);
  report.optimizer_seconds = watch.seconds();
  return report;
}

}  // namespace cantilever
