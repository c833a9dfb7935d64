#include "tests/model/golden_pass.h"

#include <ATen/ops/empty.h>
#include <ATen/ops/tensor.h>

#include <cstring>
#include <span>

#include "cantilever/base/error.h"
#include "cantilever/optim/adamw.h"
#include "cantilever/optim/clip.h"
#include "cantilever/optim/flat_parameters.h"
#include "cantilever/optim/parameter_groups.h"

namespace cantilever::test {
namespace {

at::Tensor to_tensor(const TensorView& view) {
  if (view.dtype == DType::kI64) {
    at::Tensor tensor = at::empty(view.shape, at::kLong);
    std::memcpy(tensor.mutable_data_ptr<int64_t>(), view.data.data(), view.data.size());
    return tensor;
  }
  at::Tensor tensor = at::empty(view.shape, at::kFloat);
  copy_as_float32(view, {tensor.mutable_data_ptr<float>(), static_cast<size_t>(tensor.numel())});
  return tensor;
}

}  // namespace

NamedTensors read_tensors(const WeightFile& file, const std::string& prefix) {
  NamedTensors tensors;
  for (const TensorView& view : file.tensors()) {
    if (!view.name.starts_with(prefix)) continue;
    tensors.emplace_back(view.name.substr(prefix.size()), to_tensor(view));
  }
  return tensors;
}

at::Tensor read_tensor(const WeightFile& file, const std::string& name) {
  const TensorView* view = file.find(name);
  CANTILEVER_CHECK(view != nullptr, file.description(), " has no tensor ", name);
  return to_tensor(*view);
}

NamedTensors run_golden(BridgeTowerForContrastiveLearning& model, const at::Tensor& pixel_values,
                        const at::Tensor& input_ids, const at::Tensor& attention_mask,
                        const GoldenOptions& options) {
  NamedTensors result;
  const auto forward = [&](HiddenStates* hidden) {
    ForwardContext context;
    return model.forward(pixel_values, input_ids, attention_mask, context, hidden);
  };

  FlatParameters flat(model.parameters_in_backward_order(), is_decayed);
  AdamWOptions adamw_options;
  adamw_options.epsilon = options.adam_epsilon;
  adamw_options.weight_decay = options.weight_decay;
  AdamW optimizer(flat, adamw_options);

  HiddenStates hidden;
  const ContrastiveOutput output = forward(options.trim ? nullptr : &hidden);
  output.loss.backward();
  result.emplace_back("output.loss", output.loss.detach());
  result.emplace_back("output.text_embeds", output.text_embeds.detach());
  result.emplace_back("output.image_embeds", output.image_embeds.detach());
  result.emplace_back("output.cross_embeds", output.cross_embeds.detach());
  result.emplace_back("output.pooler_output", output.pooler_output.detach());
  for (const auto& [name, state] : hidden.named) result.emplace_back(name, state.detach());
  for (const ParameterSlot& slot : flat.slots()) {
    result.emplace_back("gradient." + slot.name,
                        FlatParameters::view(flat.gradients(), slot).clone());
  }

  std::vector<double> losses, norms;
  for (int64_t step = 0; step < options.steps; ++step) {
    flat.zero_gradients();
    const at::Tensor loss = forward(nullptr).loss;
    loss.backward();
    norms.push_back(clip_gradient_norm(flat, options.max_grad_norm));
    optimizer.step(options.learning_rate);
    losses.push_back(loss.item<float>());
  }
  result.emplace_back("training.loss", at::tensor(losses, at::kFloat));
  result.emplace_back("training.grad_norm", at::tensor(norms, at::kFloat));
  if (options.parameters) {
    for (const auto& item : model.named_parameters()) {
      result.emplace_back("parameter." + item.key(), item.value().detach());
    }
  }
  return result;
}

}  // namespace cantilever::test
