#include "cantilever/model/vision_model.h"

#include <ATen/ops/cat.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/linear.h>
#include <ATen/ops/scaled_dot_product_attention.h>

#include "cantilever/model/activation.h"

namespace cantilever {

VisionEmbeddings::Patches::Patches(const BridgeTowerVisionConfig& config) {
  weight = register_parameter("weight", at::empty({config.hidden_size, config.num_channels,
                                                   config.patch_size, config.patch_size}));
}

VisionEmbeddings::VisionEmbeddings(const BridgeTowerVisionConfig& config)
    : grid_(config.image_size / config.patch_size), patch_(config.patch_size) {
  class_embedding = register_parameter("class_embedding", at::empty({config.hidden_size}));
  patch_embedding = register_module("patch_embedding", std::make_shared<Patches>(config));
  position_embedding = register_module(
      "position_embedding", std::make_shared<Embedding>(config.image_tokens(), config.hidden_size));
}

at::Tensor VisionEmbeddings::forward(const at::Tensor& pixel_values) const {
  const int64_t batch = pixel_values.size(0);
  const int64_t channels = pixel_values.size(1);
  const int64_t side = grid_ * patch_;  // pixels beyond whole patches are not looked at
  // A convolution whose stride is its kernel is one product over cut-out patches.
  const at::Tensor patches = pixel_values.narrow(2, 0, side)
                                 .narrow(3, 0, side)
                                 .reshape({batch, channels, grid_, patch_, grid_, patch_})
                                 .permute({0, 2, 4, 1, 3, 5})
                                 .reshape({batch, grid_ * grid_, channels * patch_ * patch_});
  const at::Tensor embedded = at::linear(patches, patch_embedding->weight.flatten(1));
  const at::Tensor first = class_embedding.expand({batch, 1, class_embedding.size(0)});
  return at::cat({first, embedded}, 1) + position_embedding->weight;
}

MultiheadAttention::MultiheadAttention(const BridgeTowerVisionConfig& config)
    : heads_(config.hidden_size / 64) {
  const int64_t width = config.hidden_size;
  in_proj_weight = register_parameter("in_proj_weight", at::empty({3 * width, width}));
  in_proj_bias = register_parameter("in_proj_bias", at::empty({3 * width}));
  out_proj = register_module("out_proj", std::make_shared<Linear>(width, width));
}

at::Tensor MultiheadAttention::forward(const at::Tensor& x) const {
  const int64_t batch = x.size(0), tokens = x.size(1), width = x.size(2);
  const at::Tensor projected =
      at::linear(x, in_proj_weight, in_proj_bias).view({batch, tokens, 3, heads_, width / heads_});
  const auto part = [&](int64_t i) { return projected.select(2, i).transpose(1, 2); };
  const at::Tensor attended = at::scaled_dot_product_attention(part(0), part(1), part(2));
  return out_proj->forward(attended.transpose(1, 2).reshape({batch, tokens, width}));
}

ResidualAttention::Mlp::Mlp(int64_t width) {
  c_fc = register_module("c_fc", std::make_shared<Linear>(width, 4 * width));
  c_proj = register_module("c_proj", std::make_shared<Linear>(4 * width, width));
}

ResidualAttention::ResidualAttention(const BridgeTowerVisionConfig& config) {
  const int64_t width = config.hidden_size;
  attn = register_module("attn", std::make_shared<MultiheadAttention>(config));
  ln_1 = register_module("ln_1", std::make_shared<LayerNorm>(width, config.layer_norm_eps));
  mlp = register_module("mlp", std::make_shared<Mlp>(width));
  ln_2 = register_module("ln_2", std::make_shared<LayerNorm>(width, config.layer_norm_eps));
}

at::Tensor ResidualAttention::forward(const at::Tensor& x) const {
  const at::Tensor attended = x + attn->forward(ln_1->forward(x));
  const at::Tensor inner =
      apply_activation("quick_gelu", mlp->c_fc->forward(ln_2->forward(attended)));
  return attended + mlp->c_proj->forward(inner);
}

VisionBlocks::VisionBlocks(const BridgeTowerVisionConfig& config) {
  resblocks = register_module("resblocks", std::make_shared<ModuleList<ResidualAttention>>());
  const int64_t count = config.num_hidden_layers - (config.remove_last_layer ? 1 : 0);
  for (int64_t i = 0; i < count; ++i) resblocks->append(config);
}

VisionTransformer::VisionTransformer(const BridgeTowerVisionConfig& config) {
  const auto layer_norm = [&] {
    return std::make_shared<LayerNorm>(config.hidden_size, config.layer_norm_eps);
  };
  embeddings = register_module("embeddings", std::make_shared<VisionEmbeddings>(config));
  ln_pre = register_module("ln_pre", layer_norm());
  transformer = register_module("transformer", std::make_shared<VisionBlocks>(config));
  ln_post = register_module("ln_post", layer_norm());
  if (!config.share_layernorm) {
    ln_separate = register_module("ln_separate", std::make_shared<ModuleList<LayerNorm>>());
    for (int64_t i = 0; i < config.num_hidden_layers; ++i) {
      ln_separate->append(config.hidden_size, config.layer_norm_eps);
    }
  }
}

at::Tensor VisionTransformer::forward_pre(const at::Tensor& pixel_values) const {
  return ln_pre->forward(embeddings->forward(pixel_values));
}

VisionModel::VisionModel(const BridgeTowerVisionConfig& config) {
  visual = register_module("visual", std::make_shared<VisionTransformer>(config));
}

}  // namespace cantilever
