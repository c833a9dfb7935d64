#pragma once

#include <optional>

#include "cantilever/model/config.h"
#include "cantilever/model/forward_context.h"
#include "cantilever/model/layers.h"

namespace cantilever {

// softmax(q k^T / sqrt(D) + mask) v with dropout on the probabilities. q [B, h, Tq, D],
// k and v [B, h, Tk, D], mask additive [B, 1, 1, Tk] or undefined -> [B, Tq, h * D].
// One dropout site when rate > 0 and training.
at::Tensor attend(const at::Tensor& query, const at::Tensor& key, const at::Tensor& value,
                  const at::Tensor& mask, double rate, ForwardContext& context);

// BridgeTowerSelfAttention and BridgeTowerCrossAttention.
struct SelfAttention : public torch::nn::Module {
  explicit SelfAttention(const BridgeTowerTextConfig& config);
  // x [B, Tq, d] asks, source [B, Tk, d] answers -> [B, Tq, d].
  at::Tensor forward(const at::Tensor& x, const at::Tensor& source, const at::Tensor& mask,
                     ForwardContext& context) const;

  std::shared_ptr<Linear> query, key, value;
  int64_t heads_;
  double rate_;
};

// BridgeTowerSelfOutput.
struct SelfOutput : public torch::nn::Module {
  explicit SelfOutput(const BridgeTowerTextConfig& config);
  at::Tensor forward(const at::Tensor& x, const at::Tensor& residual,
                     ForwardContext& context) const;

  std::shared_ptr<Linear> dense;
  std::shared_ptr<LayerNorm> LayerNorm_;
  double rate_;
};

// BridgeTowerAttention: attention, output projection, dropout, residual, LayerNorm. Two dropout
// sites.
struct Attention : public torch::nn::Module {
  explicit Attention(const BridgeTowerTextConfig& config);
  at::Tensor forward(const at::Tensor& x, const at::Tensor& source, const at::Tensor& mask,
                     ForwardContext& context) const;

  std::shared_ptr<SelfAttention> self;
  std::shared_ptr<SelfOutput> output;
};

}  // namespace cantilever
