#include "cantilever/model/cross_modal.h"

#include <ATen/ops/addcmul.h>
#include <ATen/ops/empty.h>

namespace cantilever {

LinkTower::LinkTower(const BridgeTowerConfig& config) {
  if (config.link_tower_type == "scaled_add") {
    scaled_factor = register_parameter("scaled_factor", at::empty({}));
  } else if (config.link_tower_type == "interpolate") {
    beta = register_parameter("beta", at::empty({}));
  }
  LayerNorm_ = register_module(
      "LayerNorm", std::make_shared<LayerNorm>(config.hidden_size, config.layer_norm_eps));
}

at::Tensor LinkTower::forward(const at::Tensor& unimodal, const at::Tensor& cross_modal) const {
  if (scaled_factor.defined()) return LayerNorm_->forward(unimodal * scaled_factor + cross_modal);
  if (beta.defined()) return LayerNorm_->forward(unimodal * (1 - beta) + cross_modal * beta);
  return LayerNorm_->forward(unimodal + cross_modal);
}

CrossLayer::CrossLayer(const BridgeTowerTextConfig& config) {
  attention = register_module("attention", std::make_shared<Attention>(config));
  crossattention = register_module("crossattention", std::make_shared<Attention>(config));
  intermediate = register_module("intermediate", std::make_shared<Intermediate>(config));
  output = register_module("output", std::make_shared<Output>(config));
}

at::Tensor CrossLayer::forward(const at::Tensor& own, const at::Tensor& other,
                               const at::Tensor& own_mask, const at::Tensor& other_mask,
                               int64_t rows, ForwardContext& context) const {
  const at::Tensor asking = own.narrow(1, 0, rows);
  const at::Tensor self_attended = attention->forward(asking, own, own_mask, context);
  const at::Tensor attended = crossattention->forward(self_attended, other, other_mask, context);
  return output->forward(intermediate->forward(attended), attended, context);
}

}  // namespace cantilever
