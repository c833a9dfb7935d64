#pragma once

#include "cantilever/model/contrastive.h"
#include "cantilever/model/cross_modal.h"
#include "cantilever/model/vision_model.h"

namespace cantilever {

// What the contrastive heads read.
struct BridgeTowerFeatures {
  at::Tensor text;    // [B, d] first token of the last text layer
  at::Tensor image;   // [B, d] first token of the last vision block, normalised, transformed, typed
  at::Tensor pooled;  // [B, 2d]
};

// transformers.BridgeTowerModel, members in its order of registration.
class BridgeTowerModel : public torch::nn::Module {
 public:
  BridgeTowerModel(const BridgeTowerConfig& config, bool text_pooler);

  // mask: additive [B, 1, 1, L], or undefined when no token is masked.
  BridgeTowerFeatures forward(const at::Tensor& pixel_values, const at::Tensor& input_ids,
                              const at::Tensor& mask, ForwardContext& context,
                              HiddenStates* hidden) const;

  // Parameters that a loss can reach, in the order in which forward() first uses them.
  std::vector<at::Tensor> parameters_in_forward_order() const;

  std::shared_ptr<Linear> cross_modal_text_transform, cross_modal_image_transform;
  std::shared_ptr<Embedding> token_type_embeddings;
  std::shared_ptr<VisionModel> vision_model;
  std::shared_ptr<TextModel> text_model;
  std::shared_ptr<ModuleList<CrossLayer>> cross_modal_image_layers, cross_modal_text_layers;
  std::shared_ptr<Pooler> cross_modal_image_pooler, cross_modal_text_pooler;
  std::shared_ptr<LayerNorm> cross_modal_text_layernorm, cross_modal_image_layernorm;
  std::shared_ptr<ModuleList<LinkTower>> cross_modal_text_link_tower, cross_modal_image_link_tower;

 private:
  int64_t text_layers_;  // and as many vision blocks take part
  int64_t levels_;
  int64_t split_;  // layers below the first cross-modal level
};

}  // namespace cantilever
