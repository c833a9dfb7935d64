#include "cantilever/model/text_model.h"

#include <ATen/ops/cumsum.h>
#include <ATen/ops/tanh.h>

#include "cantilever/model/activation.h"

namespace cantilever {

TextEmbeddings::TextEmbeddings(const BridgeTowerTextConfig& config)
    : pad_token_id_(config.pad_token_id), rate_(config.hidden_dropout_prob) {
  const int64_t width = config.hidden_size;
  word_embeddings = register_module(
      "word_embeddings", std::make_shared<Embedding>(config.vocab_size, width, pad_token_id_));
  token_type_embeddings = register_module(
      "token_type_embeddings", std::make_shared<Embedding>(config.type_vocab_size, width));
  LayerNorm_ =
      register_module("LayerNorm", std::make_shared<LayerNorm>(width, config.layer_norm_eps));
  position_embeddings = register_module(
      "position_embeddings",
      std::make_shared<Embedding>(config.max_position_embeddings, width, pad_token_id_));
}

at::Tensor TextEmbeddings::position_ids(const at::Tensor& input_ids, int64_t pad_token_id) {
  const at::Tensor real = input_ids.ne(pad_token_id).to(at::kLong);
  return at::cumsum(real, 1) * real + pad_token_id;
}

at::Tensor TextEmbeddings::forward(const at::Tensor& input_ids, ForwardContext& context) const {
  // The library always uses type 0, whatever token_type_ids a caller hands in.
  const at::Tensor words = word_embeddings->forward(input_ids);
  const at::Tensor typed = words + token_type_embeddings->weight.select(0, 0);
  const at::Tensor positions = position_embeddings->forward(position_ids(input_ids, pad_token_id_));
  const at::Tensor sum = typed + positions;
  return context.dropout(LayerNorm_->forward(sum), rate_);
}

Intermediate::Intermediate(const BridgeTowerTextConfig& config) : activation_(config.hidden_act) {
  dense = register_module("dense",
                          std::make_shared<Linear>(config.hidden_size, config.intermediate_size));
}

at::Tensor Intermediate::forward(const at::Tensor& x) const {
  return apply_activation(activation_, dense->forward(x));
}

Output::Output(const BridgeTowerTextConfig& config) : rate_(config.hidden_dropout_prob) {
  dense = register_module("dense",
                          std::make_shared<Linear>(config.intermediate_size, config.hidden_size));
  LayerNorm_ = register_module(
      "LayerNorm", std::make_shared<LayerNorm>(config.hidden_size, config.layer_norm_eps));
}

at::Tensor Output::forward(const at::Tensor& x, const at::Tensor& residual,
                           ForwardContext& context) const {
  return LayerNorm_->forward(context.dropout(dense->forward(x), rate_) + residual);
}

TextLayer::TextLayer(const BridgeTowerTextConfig& config) {
  attention = register_module("attention", std::make_shared<Attention>(config));
  intermediate = register_module("intermediate", std::make_shared<Intermediate>(config));
  output = register_module("output", std::make_shared<Output>(config));
}

at::Tensor TextLayer::forward(const at::Tensor& x, const at::Tensor& mask,
                              ForwardContext& context) const {
  const at::Tensor attended = attention->forward(x, x, mask, context);
  return output->forward(intermediate->forward(attended), attended, context);
}

Pooler::Pooler(int64_t width) {
  dense = register_module("dense", std::make_shared<Linear>(width, width));
}

at::Tensor Pooler::forward(const at::Tensor& x) const {
  return at::tanh(dense->forward(x.select(1, 0)));
}

TextEncoder::TextEncoder(const BridgeTowerTextConfig& config) {
  layer = register_module("layer", std::make_shared<ModuleList<TextLayer>>());
  for (int64_t i = 0; i < config.num_hidden_layers; ++i) layer->append(config);
}

TextModel::TextModel(const BridgeTowerTextConfig& config, bool with_pooler) {
  embeddings = register_module("embeddings", std::make_shared<TextEmbeddings>(config));
  encoder = register_module("encoder", std::make_shared<TextEncoder>(config));
  if (with_pooler) {
    pooler = register_module("pooler", std::make_shared<Pooler>(config.hidden_size));
  }
}

}  // namespace cantilever
