#include "cantilever/optim/adamw.h"

#include <ATen/ops/_fused_adamw.h>
#include <ATen/ops/full.h>

namespace cantilever {

AdamW::AdamW(FlatParameters& parameters, const AdamWOptions& options)
    : parameters_(parameters), options_(options) {}

void AdamW::step(double learning_rate) {
  ++steps_done_;
  const auto update = [&](const FlatRange& range, double weight_decay) {
    if (range.begin == range.end) return;
    const auto part = [&](const at::Tensor& buffer) {
      return std::vector<at::Tensor>{buffer.narrow(0, range.begin, range.end - range.begin)};
    };
    // PyTorch keeps the step as a float32 tensor.
    const std::vector<at::Tensor> steps = {
        at::full({}, static_cast<double>(steps_done_), at::kFloat)};
    std::vector<at::Tensor> values = part(parameters_.values());
    std::vector<at::Tensor> gradients = part(parameters_.gradients());
    std::vector<at::Tensor> exp_avg = part(parameters_.exp_avg());
    std::vector<at::Tensor> exp_avg_sq = part(parameters_.exp_avg_sq());
    at::_fused_adamw_(values, gradients, exp_avg, exp_avg_sq, {}, steps, learning_rate,
                      options_.beta1, options_.beta2, weight_decay, options_.epsilon,
                      /*amsgrad=*/false, /*maximize=*/false);
  };
  update(parameters_.decayed_range(), options_.weight_decay);
  update(parameters_.other_range(), 0.0);
}

}  // namespace cantilever
