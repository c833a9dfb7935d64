#pragma once

#include <ATen/core/Tensor.h>
#include <torch/nn/module.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "cantilever/model/config.h"
#include "cantilever/model/forward_context.h"

namespace cantilever {

struct ContrastiveOutput {
  at::Tensor loss;           // []
  at::Tensor text_embeds;    // [B, C], unit length
  at::Tensor image_embeds;   // [B, C], unit length
  at::Tensor cross_embeds;   // [B, C], unit length
  at::Tensor pooler_output;  // [B, 2d]
};

// Every intermediate state, for parity tests; names as tools/reference/dump_golden.py has them.
struct HiddenStates {
  std::vector<std::pair<std::string, at::Tensor>> named;  // "hidden.text.0" [B, L, dt] ...
};

struct ModelOptions {
  // The script's --freeze_text_pooler (default True): no pooler in the model at all.
  bool text_pooler = false;
};

class BridgeTowerModel;

// transformers.BridgeTowerForContrastiveLearning: members are named as state-dict keys and
// registered in its order, so named_parameters() gives the names of the files. float32 on the CPU.
// Parameters are allocated, not filled: load_checkpoint() or initialize() does that.
class BridgeTowerForContrastiveLearning : public torch::nn::Module {
 public:
  // Throws Error (config.check) for what cannot run.
  BridgeTowerForContrastiveLearning(const BridgeTowerConfig& config, const ModelOptions& options);
  ~BridgeTowerForContrastiveLearning() override;

  // pixel_values float32 [B, 3, S, S]; input_ids, attention_mask int64 [B, L], L at most
  // max_position_embeddings - 2. Throws Error naming shapes when they do not fit the config.
  ContrastiveOutput forward(const at::Tensor& pixel_values, const at::Tensor& input_ids,
                            const at::Tensor& attention_mask, ForwardContext& context,
                            HiddenStates* hidden = nullptr);

  const BridgeTowerConfig& config() const { return config_; }

  // The library's distributions (bridgetower.md 6), drawn from `seed`; equal for any thread count.
  void initialize(uint64_t seed);

  // --freeze_vision_model, --freeze_text_model: requires_grad off for the whole tower.
  void freeze_vision_model();
  void freeze_text_model();

  // Trainable parameters in the order in which backward finishes their gradients.
  std::vector<std::pair<std::string, at::Tensor>> parameters_in_backward_order() const;

  // Transformers' floating_point_ops: parameters outside embeddings (6 * this * input ids = FLOPs).
  int64_t parameters_without_embeddings() const;

  at::Tensor logit_scale;  // []
  std::shared_ptr<BridgeTowerModel> bridgetower;

 private:
  struct Heads;
  BridgeTowerConfig config_;
  std::unique_ptr<Heads> heads_;
};

}  // namespace cantilever
