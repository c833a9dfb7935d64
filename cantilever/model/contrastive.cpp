#include "cantilever/model/contrastive.h"

#include <ATen/ops/arange.h>
#include <ATen/ops/cross_entropy_loss.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/exp.h>
#include <ATen/ops/matmul.h>
#include <ATen/ops/norm.h>
#include <ATen/ops/zeros.h>

#include <algorithm>
#include <limits>
#include <map>

#include "cantilever/base/error.h"
#include "cantilever/model/bridgetower_model.h"
#include "cantilever/model/initialize.h"

namespace cantilever {
namespace {

// BridgeTowerContrastiveHead.
struct ContrastiveHead : public torch::nn::Module {
  ContrastiveHead(int64_t in, int64_t out) {
    fc = register_module("fc", std::make_shared<Linear>(in, out));
  }

  // -> [B, out], unit length.
  at::Tensor forward(const at::Tensor& x) const {
    const at::Tensor projected = fc->forward(x);
    return projected / at::norm(projected, 2, {-1}, true).clamp_min(1e-12);
  }

  std::shared_ptr<Linear> fc;
};

std::string shape_of(const at::Tensor& tensor) {
  std::string text = "[";
  for (const int64_t size : tensor.sizes()) {
    text += (text.size() > 1 ? ", " : "") + std::to_string(size);
  }
  return text + "]";
}

void check_inputs(const BridgeTowerConfig& config, const at::Tensor& pixel_values,
                  const at::Tensor& input_ids, const at::Tensor& attention_mask) {
  const BridgeTowerVisionConfig& vision = config.vision_config;
  CANTILEVER_CHECK(pixel_values.dim() == 4 && pixel_values.size(1) == vision.num_channels &&
                       pixel_values.size(2) == vision.image_size &&
                       pixel_values.size(3) == vision.image_size,
                   "pixel_values has shape ", shape_of(pixel_values), "; the model takes [B, ",
                   vision.num_channels, ", ", vision.image_size, ", ", vision.image_size, "]");
  CANTILEVER_CHECK(pixel_values.scalar_type() == at::kFloat, "pixel_values is not float32");
  CANTILEVER_CHECK(input_ids.dim() == 2 && input_ids.size(0) == pixel_values.size(0) &&
                       input_ids.size(0) > 0 && input_ids.size(1) > 0,
                   "input_ids has shape ", shape_of(input_ids), "; with pixel_values of shape ",
                   shape_of(pixel_values), " it should be [", pixel_values.size(0), ", L]");
  CANTILEVER_CHECK(attention_mask.sizes() == input_ids.sizes(), "attention_mask has shape ",
                   shape_of(attention_mask), ", input_ids has ", shape_of(input_ids));
  CANTILEVER_CHECK(
      input_ids.scalar_type() == at::kLong && attention_mask.scalar_type() == at::kLong,
      "input_ids and attention_mask must be int64");
  const BridgeTowerTextConfig& text = config.text_config;
  const int64_t longest = text.max_position_embeddings - text.pad_token_id - 1;
  CANTILEVER_CHECK(input_ids.size(1) <= longest, "input_ids has shape ", shape_of(input_ids),
                   "; the model takes at most ", longest,
                   " tokens (max_position_embeddings - pad_token_id - 1)");
  const auto [lowest, highest] = input_ids.aminmax();
  CANTILEVER_CHECK(lowest.item<int64_t>() >= 0 && highest.item<int64_t>() < text.vocab_size,
                   "input_ids holds ids from ", lowest.item<int64_t>(), " to ",
                   highest.item<int64_t>(), "; the model's vocabulary has ", text.vocab_size);
}

// How many leading columns hold every unmasked token, if all captions are padded on their right
// (each with at least one real token); else all.
int64_t columns_in_use(const at::Tensor& attention_mask) {
  const at::Tensor contiguous = attention_mask.contiguous();
  const int64_t columns = contiguous.size(1);
  int64_t used = 0;
  for (int64_t row = 0; row < contiguous.size(0); ++row) {
    const int64_t* values = contiguous.const_data_ptr<int64_t>() + row * columns;
    const int64_t length = std::find(values, values + columns, 0) - values;
    const bool right_padded =
        std::all_of(values + length, values + columns, [](int64_t value) { return value == 0; });
    if (length == 0 || !right_padded) return columns;
    used = std::max(used, length);
  }
  return used;
}

// 0 for tokens, the lowest float for masked ones (as Transformers: a caption that is masked as a
// whole attends evenly to all of it), [B, 1, 1, L]. Undefined when nothing is masked.
at::Tensor additive_mask(const at::Tensor& attention_mask) {
  const at::Tensor masked = attention_mask.eq(0);
  if (!masked.any().item<bool>()) return {};
  return at::zeros(attention_mask.sizes(), at::kFloat)
      .masked_fill_(masked, std::numeric_limits<float>::lowest())
      .unsqueeze(1)
      .unsqueeze(1);
}

}  // namespace

struct BridgeTowerForContrastiveLearning::Heads {
  std::shared_ptr<ContrastiveHead> text, image, cross;
};

BridgeTowerForContrastiveLearning::BridgeTowerForContrastiveLearning(
    const BridgeTowerConfig& config, const ModelOptions& options)
    : config_(config), heads_(std::make_unique<Heads>()) {
  config_.check("model configuration");
  CANTILEVER_CHECK(config_.contrastive_hidden_size.has_value(),
                   "model configuration: contrastive_hidden_size is missing");
  if (!config_.logit_scale_init_value) config_.logit_scale_init_value = kLogitScaleInitValue;
  const int64_t width = config_.hidden_size;
  const int64_t embedding = *config_.contrastive_hidden_size;
  logit_scale = register_parameter("logit_scale", at::empty({}));
  bridgetower = register_module("bridgetower",
                                std::make_shared<BridgeTowerModel>(config_, options.text_pooler));
  heads_->text =
      register_module("itc_text_head", std::make_shared<ContrastiveHead>(width, embedding));
  heads_->image =
      register_module("itc_image_head", std::make_shared<ContrastiveHead>(width, embedding));
  heads_->cross = register_module("itc_cross_modal_head",
                                  std::make_shared<ContrastiveHead>(2 * width, embedding));
}

BridgeTowerForContrastiveLearning::~BridgeTowerForContrastiveLearning() = default;

ContrastiveOutput BridgeTowerForContrastiveLearning::forward(const at::Tensor& pixel_values,
                                                             const at::Tensor& input_ids,
                                                             const at::Tensor& attention_mask,
                                                             ForwardContext& context,
                                                             HiddenStates* hidden) {
  check_inputs(config_, pixel_values, input_ids, attention_mask);
  // Columns that are padding in every caption reach neither loss nor gradients (bridgetower.md 12,
  // A3).
  const int64_t columns =
      hidden == nullptr ? columns_in_use(attention_mask) : attention_mask.size(1);
  const at::Tensor mask = additive_mask(attention_mask.narrow(1, 0, columns));
  const BridgeTowerFeatures features =
      bridgetower->forward(pixel_values, input_ids.narrow(1, 0, columns), mask, context, hidden);

  ContrastiveOutput output;
  output.pooler_output = features.pooled;
  output.text_embeds = heads_->text->forward(features.text);
  output.image_embeds = heads_->image->forward(features.image);
  output.cross_embeds = heads_->cross->forward(features.pooled);

  const at::Tensor scale = at::exp(logit_scale);
  const at::Tensor labels = at::arange(pixel_values.size(0), at::kLong);
  const auto loss = [&](const at::Tensor& rows, const at::Tensor& columns_of) {
    return at::cross_entropy_loss(at::matmul(rows, columns_of.t()) * scale, labels);
  };
  output.loss = (loss(output.text_embeds, output.image_embeds) +
                 loss(output.text_embeds, output.cross_embeds) +
                 loss(output.image_embeds, output.cross_embeds)) /
                3.0;
  return output;
}

void BridgeTowerForContrastiveLearning::initialize(uint64_t seed) {
  for (const auto& item : named_parameters()) {
    initialize_parameter(item.key(), item.value(), config_, seed);
  }
}

void BridgeTowerForContrastiveLearning::freeze_vision_model() {
  for (at::Tensor& parameter : bridgetower->vision_model->parameters()) {
    parameter.set_requires_grad(false);
  }
}

void BridgeTowerForContrastiveLearning::freeze_text_model() {
  for (at::Tensor& parameter : bridgetower->text_model->parameters()) {
    parameter.set_requires_grad(false);
  }
}

std::vector<std::pair<std::string, at::Tensor>>
BridgeTowerForContrastiveLearning::parameters_in_backward_order() const {
  std::vector<at::Tensor> forward_order = bridgetower->parameters_in_forward_order();
  for (const auto& head : {heads_->text, heads_->image, heads_->cross}) {
    for (const at::Tensor& parameter : head->parameters()) forward_order.push_back(parameter);
  }
  forward_order.push_back(logit_scale);

  std::map<const c10::TensorImpl*, std::string> names;
  for (const auto& item : named_parameters()) {
    names[item.value().unsafeGetTensorImpl()] = item.key();
  }
  std::vector<std::pair<std::string, at::Tensor>> result;
  for (auto parameter = forward_order.rbegin(); parameter != forward_order.rend(); ++parameter) {
    if (!parameter->requires_grad()) continue;
    result.emplace_back(names.at(parameter->unsafeGetTensorImpl()), *parameter);
  }
  return result;
}

int64_t BridgeTowerForContrastiveLearning::parameters_without_embeddings() const {
  int64_t count = logit_scale.numel();
  for (const auto& module : modules(/*include_self=*/false)) {
    if (std::dynamic_pointer_cast<Embedding>(module) != nullptr) continue;
    for (const at::Tensor& parameter : module->parameters(/*recurse=*/false)) {
      count += parameter.numel();
    }
  }
  return count;
}

}  // namespace cantilever
