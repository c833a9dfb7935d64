#pragma once

#include "cantilever/model/text_model.h"

namespace cantilever {

// BridgeTowerLinkTower: LN(u + w), LN(u * scaled_factor + w) or LN(u * (1 - beta) + w * beta).
struct LinkTower : public torch::nn::Module {
  explicit LinkTower(const BridgeTowerConfig& config);
  // unimodal, cross_modal [B, T, d] -> [B, T, d]
  at::Tensor forward(const at::Tensor& unimodal, const at::Tensor& cross_modal) const;

  at::Tensor scaled_factor;  // [], of scaled_add
  at::Tensor beta;           // [], of interpolate
  std::shared_ptr<LayerNorm> LayerNorm_;
};

// BridgeTowerBertCrossLayer: self attention, attention to the other modality, feed-forward. Five
// dropout sites.
struct CrossLayer : public torch::nn::Module {
  explicit CrossLayer(const BridgeTowerTextConfig& config);
  // own [B, To, d], other [B, Tx, d]. `rows`: how many first tokens of `own` the caller wants; each
  // depends on all of `own` and `other` but on no other result -> [B, rows, d].
  at::Tensor forward(const at::Tensor& own, const at::Tensor& other, const at::Tensor& own_mask,
                     const at::Tensor& other_mask, int64_t rows, ForwardContext& context) const;

  std::shared_ptr<Attention> attention, crossattention;
  std::shared_ptr<Intermediate> intermediate;
  std::shared_ptr<Output> output;
};

}  // namespace cantilever
