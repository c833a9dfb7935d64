#pragma once

#include "cantilever/model/config.h"
#include "cantilever/model/layers.h"

namespace cantilever {

// BridgeTowerVisionEmbeddings: patches, class token first, learned positions.
struct VisionEmbeddings : public torch::nn::Module {
  explicit VisionEmbeddings(const BridgeTowerVisionConfig& config);
  at::Tensor forward(const at::Tensor& pixel_values) const;  // [B, C, S, S] -> [B, T, d]

  // Conv2d without bias; only its weight exists.
  struct Patches : public torch::nn::Module {
    explicit Patches(const BridgeTowerVisionConfig& config);
    at::Tensor weight;  // [d, C, P, P]
  };

  at::Tensor class_embedding;  // [d]
  std::shared_ptr<Patches> patch_embedding;
  std::shared_ptr<Embedding> position_embedding;
  int64_t grid_, patch_;
};

// torch.nn.MultiheadAttention without mask and dropout.
struct MultiheadAttention : public torch::nn::Module {
  explicit MultiheadAttention(const BridgeTowerVisionConfig& config);
  at::Tensor forward(const at::Tensor& x) const;

  at::Tensor in_proj_weight;  // [3d, d]: query, key, value
  at::Tensor in_proj_bias;    // [3d]
  std::shared_ptr<Linear> out_proj;
  int64_t heads_;
};

// BridgeTowerResidualAttention, pre-norm.
struct ResidualAttention : public torch::nn::Module {
  explicit ResidualAttention(const BridgeTowerVisionConfig& config);
  at::Tensor forward(const at::Tensor& x) const;  // [B, T, d]

  struct Mlp : public torch::nn::Module {
    explicit Mlp(int64_t width);
    std::shared_ptr<Linear> c_fc, c_proj;
  };

  std::shared_ptr<MultiheadAttention> attn;
  std::shared_ptr<LayerNorm> ln_1;
  std::shared_ptr<Mlp> mlp;
  std::shared_ptr<LayerNorm> ln_2;
};

struct VisionBlocks : public torch::nn::Module {
  explicit VisionBlocks(const BridgeTowerVisionConfig& config);

  std::shared_ptr<ModuleList<ResidualAttention>> resblocks;
};

// BridgeTowerVisionTransformer. Batch first throughout, unlike the library (only a layout).
struct VisionTransformer : public torch::nn::Module {
  explicit VisionTransformer(const BridgeTowerVisionConfig& config);
  at::Tensor forward_pre(const at::Tensor& pixel_values) const;  // embeddings, ln_pre

  std::shared_ptr<VisionEmbeddings> embeddings;
  std::shared_ptr<LayerNorm> ln_pre;
  std::shared_ptr<VisionBlocks> transformer;
  std::shared_ptr<LayerNorm> ln_post;
  // Only with share_layernorm false; no version of the contrastive model uses them.
  std::shared_ptr<ModuleList<LayerNorm>> ln_separate;
};

struct VisionModel : public torch::nn::Module {
  explicit VisionModel(const BridgeTowerVisionConfig& config);

  std::shared_ptr<VisionTransformer> visual;
};

}  // namespace cantilever
