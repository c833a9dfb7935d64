#pragma once

// What tools/reference/dump_golden.py does, done by this program: one pass with all gradients, then
// AdamW steps on the same batch. Shared by the golden tests and by model_golden.

#include <ATen/core/Tensor.h>

#include <string>
#include <utility>
#include <vector>

#include "cantilever/io/tensor_view.h"
#include "cantilever/model/contrastive.h"

namespace cantilever::test {

using NamedTensors = std::vector<std::pair<std::string, at::Tensor>>;

struct GoldenOptions {
  int64_t steps = 3;
  double learning_rate = 1e-3;
  double adam_epsilon = 1e-8;
  double weight_decay = 0.01;
  double max_grad_norm = 1.0;
  bool parameters = true;  // store parameter.*
  bool trim = false;       // forward as training runs it, without hidden states
};

// float32 or int64 copies of the tensors whose names start with `prefix`, without the prefix.
NamedTensors read_tensors(const WeightFile& file, const std::string& prefix);
at::Tensor read_tensor(const WeightFile& file, const std::string& name);

// output.*, hidden.*, gradient.*, training.*, parameter.*; changes the model's parameters.
NamedTensors run_golden(BridgeTowerForContrastiveLearning& model, const at::Tensor& pixel_values,
                        const at::Tensor& input_ids, const at::Tensor& attention_mask,
                        const GoldenOptions& options);

}  // namespace cantilever::test
