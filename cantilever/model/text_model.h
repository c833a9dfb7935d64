#pragma once

#include "cantilever/model/attention.h"

namespace cantilever {

// BridgeTowerTextEmbeddings. One dropout site.
struct TextEmbeddings : public torch::nn::Module {
  explicit TextEmbeddings(const BridgeTowerTextConfig& config);
  at::Tensor forward(const at::Tensor& input_ids, ForwardContext& context) const;  // -> [B, L, d]

  // Position of every id: pad_token_id for padding, pad_token_id + 1, + 2 ... for the others.
  static at::Tensor position_ids(const at::Tensor& input_ids, int64_t pad_token_id);

  std::shared_ptr<Embedding> word_embeddings, token_type_embeddings, position_embeddings;
  std::shared_ptr<LayerNorm> LayerNorm_;
  int64_t pad_token_id_;
  double rate_;
};

// BridgeTowerIntermediate: dense, activation.
struct Intermediate : public torch::nn::Module {
  explicit Intermediate(const BridgeTowerTextConfig& config);
  at::Tensor forward(const at::Tensor& x) const;

  std::shared_ptr<Linear> dense;
  std::string activation_;
};

// BridgeTowerOutput: dense, dropout, residual, LayerNorm. One dropout site.
struct Output : public torch::nn::Module {
  explicit Output(const BridgeTowerTextConfig& config);
  at::Tensor forward(const at::Tensor& x, const at::Tensor& residual,
                     ForwardContext& context) const;

  std::shared_ptr<Linear> dense;
  std::shared_ptr<LayerNorm> LayerNorm_;
  double rate_;
};

// BridgeTowerTextLayer, post-norm. Three dropout sites.
struct TextLayer : public torch::nn::Module {
  explicit TextLayer(const BridgeTowerTextConfig& config);
  at::Tensor forward(const at::Tensor& x, const at::Tensor& mask, ForwardContext& context) const;

  std::shared_ptr<Attention> attention;
  std::shared_ptr<Intermediate> intermediate;
  std::shared_ptr<Output> output;
};

// BridgeTowerPooler: tanh(dense(first token)).
struct Pooler : public torch::nn::Module {
  explicit Pooler(int64_t width);
  at::Tensor forward(const at::Tensor& x) const;  // [B, T, d] -> [B, d]

  std::shared_ptr<Linear> dense;
};

struct TextEncoder : public torch::nn::Module {
  explicit TextEncoder(const BridgeTowerTextConfig& config);

  std::shared_ptr<ModuleList<TextLayer>> layer;
};

// BridgeTowerTextModel. Its pooler exists in files, and on request, but BridgeTower never calls it.
struct TextModel : public torch::nn::Module {
  TextModel(const BridgeTowerTextConfig& config, bool with_pooler);

  std::shared_ptr<TextEmbeddings> embeddings;
  std::shared_ptr<TextEncoder> encoder;
  std::shared_ptr<Pooler> pooler;  // null without it
};

}  // namespace cantilever
