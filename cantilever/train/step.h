#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "cantilever/data/batch_tensors.h"
#include "cantilever/model/contrastive.h"
#include "cantilever/optim/adamw.h"
#include "cantilever/optim/flat_parameters.h"

namespace cantilever {

// What one optimiser step did.
struct StepReport {
  int64_t step = 0;           // 1 for the first of a run
  std::vector<float> losses;  // of each micro-batch, divided by their number
  double gradient_norm = 0;   // before clipping
  double learning_rate = 0;
  int64_t samples = 0;
  int64_t input_ids = 0;  // padding included
  bool applied = false;   // false: not finite, weights left as they were
  double data_seconds = 0, forward_seconds = 0, backward_seconds = 0, optimizer_seconds = 0;

  double loss() const;  // mean over the micro-batches
  bool finite() const;  // losses and gradient norm
};

// Sees a step from inside; for dumps that are compared with the reference.
class StepObserver {
 public:
  virtual ~StepObserver() = default;
  // `output.loss` is the micro-batch's own, not divided. The tensors are only lent.
  virtual void micro_batch(int64_t step, const Batch& batch, const BatchTensors& inputs,
                           const ContrastiveOutput& output) = 0;
  // All gradients of a step, before clipping.
  virtual void gradients(int64_t step, const FlatParameters& parameters) = 0;
};

struct StepOptions {
  double max_grad_norm = 1;
  uint64_t seed = 42;             // of dropout
  bool apply_non_finite = false;  // go on with a loss or gradient that is not finite
};

// One optimiser step over some micro-batches: forward, loss / number of micro-batches, backward
// into the flat gradient buffer, clip, AdamW. The dropout key of a micro-batch is a function of
// (seed, step, its index in the step).
class TrainStep {
 public:
  TrainStep(BridgeTowerForContrastiveLearning& model, FlatParameters& parameters, AdamW& optimizer,
            const StepOptions& options);

  void observe(StepObserver* observer) { observers_.push_back(observer); }

  // `next` gives the micro-batches in order; each is used before the next one is asked for.
  StepReport run(int64_t step, int64_t micro_batches, double learning_rate,
                 const std::function<const Batch&()>& next);

 private:
  float forward_backward(const Batch& batch, int64_t index, int64_t micro_batches,
                         StepReport& report);

  BridgeTowerForContrastiveLearning& model_;
  FlatParameters& parameters_;
  AdamW& optimizer_;
  StepOptions options_;
  std::vector<StepObserver*> observers_;
};

// Key of the dropout masks of one micro-batch.
uint64_t dropout_key(uint64_t seed, int64_t step, int64_t micro_batch);

}  // namespace cantilever
