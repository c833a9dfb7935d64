#include "cantilever/model/attention.h"

#include <ATen/ops/matmul.h>
#include <ATen/ops/scaled_dot_product_attention.h>
#include <ATen/ops/softmax.h>

#include <cmath>

namespace cantilever {
namespace {

// [B, T, h * D] -> [B, h, T, D], a view.
at::Tensor split_heads(const at::Tensor& x, int64_t heads) {
  return x.view({x.size(0), x.size(1), heads, x.size(2) / heads}).transpose(1, 2);
}

}  // namespace

at::Tensor attend(const at::Tensor& query, const at::Tensor& key, const at::Tensor& value,
                  const at::Tensor& mask, double rate, ForwardContext& context) {
  at::Tensor result;
  if (!context.training || rate == 0) {
    std::optional<at::Tensor> optional_mask;
    if (mask.defined()) optional_mask = mask;
    result = at::scaled_dot_product_attention(query, key, value, optional_mask);
  } else {
    const double scale = 1 / std::sqrt(static_cast<double>(query.size(3)));
    at::Tensor scores = at::matmul(query * scale, key.transpose(2, 3));
    if (mask.defined()) scores.add_(mask);  // the product's backward does not need its result
    result = at::matmul(context.dropout(at::softmax(scores, -1), rate), value);
  }
  return result.transpose(1, 2).reshape({query.size(0), query.size(2), -1});
}

SelfAttention::SelfAttention(const BridgeTowerTextConfig& config)
    : heads_(config.num_attention_heads), rate_(config.attention_probs_dropout_prob) {
  const int64_t width = config.hidden_size;
  query = register_module("query", std::make_shared<Linear>(width, width));
  key = register_module("key", std::make_shared<Linear>(width, width));
  value = register_module("value", std::make_shared<Linear>(width, width));
}

at::Tensor SelfAttention::forward(const at::Tensor& x, const at::Tensor& source,
                                  const at::Tensor& mask, ForwardContext& context) const {
  // One statement each: the order of the projections decides in which order gradients finish.
  const at::Tensor queries = split_heads(query->forward(x), heads_);
  const at::Tensor keys = split_heads(key->forward(source), heads_);
  const at::Tensor values = split_heads(value->forward(source), heads_);
  return attend(queries, keys, values, mask, rate_, context);
}

SelfOutput::SelfOutput(const BridgeTowerTextConfig& config) : rate_(config.hidden_dropout_prob) {
  const int64_t width = config.hidden_size;
  dense = register_module("dense", std::make_shared<Linear>(width, width));
  LayerNorm_ =
      register_module("LayerNorm", std::make_shared<LayerNorm>(width, config.layer_norm_eps));
}

at::Tensor SelfOutput::forward(const at::Tensor& x, const at::Tensor& residual,
                               ForwardContext& context) const {
  return LayerNorm_->forward(context.dropout(dense->forward(x), rate_) + residual);
}

Attention::Attention(const BridgeTowerTextConfig& config) {
  self = register_module("self", std::make_shared<SelfAttention>(config));
  output = register_module("output", std::make_shared<SelfOutput>(config));
}

at::Tensor Attention::forward(const at::Tensor& x, const at::Tensor& source, const at::Tensor& mask,
                              ForwardContext& context) const {
  return output->forward(self->forward(x, source, mask, context), x, context);
}

}  // namespace cantilever
