#include "cantilever/model/bridgetower_model.h"

#include <ATen/ops/cat.h>
#include <ATen/ops/layer_norm.h>
#include <ATen/ops/linear.h>

namespace cantilever {
namespace {

void record(HiddenStates* hidden, const char* kind, int64_t index, const at::Tensor& state) {
  if (hidden == nullptr) return;
  hidden->named.emplace_back("hidden." + std::string(kind) + "." + std::to_string(index), state);
}

// Appends the parameters of modules (or single tensors) one after the other.
class Collector {
 public:
  explicit Collector(std::vector<at::Tensor>& into) : into_(into) {}
  void add(const torch::nn::Module& module) {
    for (const at::Tensor& parameter : module.parameters()) add(parameter);
  }
  void add(const at::Tensor& parameter) { into_.push_back(parameter); }

 private:
  std::vector<at::Tensor>& into_;
};

void collect_embeddings(Collector& collector, const TextEmbeddings& embeddings) {
  collector.add(*embeddings.word_embeddings);
  collector.add(*embeddings.token_type_embeddings);
  collector.add(*embeddings.position_embeddings);
  collector.add(*embeddings.LayerNorm_);
}

void collect_embeddings(Collector& collector, const VisionEmbeddings& embeddings) {
  collector.add(*embeddings.patch_embedding);
  collector.add(embeddings.class_embedding);
  collector.add(*embeddings.position_embedding);
}

void collect_block(Collector& collector, const ResidualAttention& block) {
  collector.add(*block.ln_1);
  collector.add(*block.attn);
  collector.add(*block.ln_2);
  collector.add(*block.mlp);
}

}  // namespace

BridgeTowerModel::BridgeTowerModel(const BridgeTowerConfig& config, bool text_pooler)
    : text_layers_(config.text_config.num_hidden_layers),
      levels_(config.num_hidden_layers),
      split_(text_layers_ - levels_ + 1) {
  const int64_t width = config.hidden_size;
  const auto layer_norm = [&] { return std::make_shared<LayerNorm>(width, config.layer_norm_eps); };
  cross_modal_text_transform =
      register_module("cross_modal_text_transform",
                      std::make_shared<Linear>(config.text_config.hidden_size, width));
  cross_modal_image_transform =
      register_module("cross_modal_image_transform",
                      std::make_shared<Linear>(config.vision_config.hidden_size, width));
  token_type_embeddings =
      register_module("token_type_embeddings", std::make_shared<Embedding>(2, width));
  vision_model =
      register_module("vision_model", std::make_shared<VisionModel>(config.vision_config));
  text_model =
      register_module("text_model", std::make_shared<TextModel>(config.text_config, text_pooler));
  cross_modal_image_layers =
      register_module("cross_modal_image_layers", std::make_shared<ModuleList<CrossLayer>>());
  cross_modal_text_layers =
      register_module("cross_modal_text_layers", std::make_shared<ModuleList<CrossLayer>>());
  cross_modal_image_pooler =
      register_module("cross_modal_image_pooler", std::make_shared<Pooler>(width));
  cross_modal_text_pooler =
      register_module("cross_modal_text_pooler", std::make_shared<Pooler>(width));
  cross_modal_text_layernorm = register_module("cross_modal_text_layernorm", layer_norm());
  cross_modal_image_layernorm = register_module("cross_modal_image_layernorm", layer_norm());
  cross_modal_text_link_tower =
      register_module("cross_modal_text_link_tower", std::make_shared<ModuleList<LinkTower>>());
  cross_modal_image_link_tower =
      register_module("cross_modal_image_link_tower", std::make_shared<ModuleList<LinkTower>>());
  for (int64_t level = 0; level < levels_; ++level) {
    cross_modal_image_layers->append(config.text_config);
    cross_modal_text_layers->append(config.text_config);
    if (level == 0) continue;
    cross_modal_text_link_tower->append(config);
    cross_modal_image_link_tower->append(config);
  }
}

BridgeTowerFeatures BridgeTowerModel::forward(const at::Tensor& pixel_values,
                                              const at::Tensor& input_ids, const at::Tensor& mask,
                                              ForwardContext& context, HiddenStates* hidden) const {
  const VisionTransformer& visual = *vision_model->visual;
  at::Tensor text, image;  // unimodal states [B, L, d], [B, T, d]
  const auto run_layer = [&](int64_t i) {
    text = (*text_model->encoder->layer)[i].forward(text, mask, context);
    record(hidden, "text", i + 1, text);
  };
  const auto run_block = [&](int64_t i) {
    image = (*visual.transformer->resblocks)[i].forward(image);
    record(hidden, "image", i + 1, image);
  };

  text = text_model->embeddings->forward(input_ids, context);
  record(hidden, "text", 0, text);
  for (int64_t i = 0; i < split_; ++i) run_layer(i);
  image = visual.forward_pre(pixel_values);
  record(hidden, "image", 0, image);
  for (int64_t i = 0; i < split_; ++i) run_block(i);

  // The token type is the same for all tokens of a modality: it joins the transform's bias.
  const at::Tensor text_type = token_type_embeddings->weight.select(0, 0);
  const at::Tensor image_type = token_type_embeddings->weight.select(0, 1);
  const at::Tensor text_bias = cross_modal_text_transform->bias + text_type;
  const at::Tensor image_bias = cross_modal_image_transform->bias + image_type;

  const at::Tensor no_mask;  // pictures are never padded
  at::Tensor cross_text, cross_image, transformed_image;
  for (int64_t level = 0; level < levels_; ++level) {
    if (level > 0) {
      run_layer(split_ + level - 1);
      run_block(split_ + level - 1);
    }
    const at::Tensor transformed_text =
        at::linear(text, cross_modal_text_transform->weight, text_bias);
    at::Tensor own_text, own_image;
    if (level == 0) {
      own_text = cross_modal_text_layernorm->forward(transformed_text);
    } else {
      own_text = (*cross_modal_text_link_tower)[level - 1].forward(transformed_text, cross_text);
    }
    transformed_image =
        at::linear(visual.ln_post->forward(image), cross_modal_image_transform->weight, image_bias);
    if (level == 0) {
      own_image = cross_modal_image_layernorm->forward(transformed_image);
    } else {
      own_image =
          (*cross_modal_image_link_tower)[level - 1].forward(transformed_image, cross_image);
    }
    // Of the last level, the poolers read the first tokens only.
    const bool first_only = level == levels_ - 1 && hidden == nullptr;
    cross_text = (*cross_modal_text_layers)[level].forward(
        own_text, own_image, mask, no_mask, first_only ? 1 : own_text.size(1), context);
    cross_image = (*cross_modal_image_layers)[level].forward(
        own_image, own_text, no_mask, mask, first_only ? 1 : own_image.size(1), context);
    record(hidden, "cross_text", level, cross_text);
    record(hidden, "cross_image", level, cross_image);
  }
  return {text.select(1, 0), transformed_image.select(1, 0),
          at::cat({cross_modal_text_pooler->forward(cross_text),
                   cross_modal_image_pooler->forward(cross_image)},
                  -1)};
}

std::vector<at::Tensor> BridgeTowerModel::parameters_in_forward_order() const {
  std::vector<at::Tensor> result;
  Collector collector(result);
  const VisionTransformer& visual = *vision_model->visual;
  const auto add_layer = [&](int64_t i) { collector.add((*text_model->encoder->layer)[i]); };
  const auto add_block = [&](int64_t i) {
    collect_block(collector, (*visual.transformer->resblocks)[i]);
  };
  collect_embeddings(collector, *text_model->embeddings);
  for (int64_t i = 0; i < split_; ++i) add_layer(i);
  collect_embeddings(collector, *visual.embeddings);
  collector.add(*visual.ln_pre);
  for (int64_t i = 0; i < split_; ++i) add_block(i);
  collector.add(*token_type_embeddings);
  collector.add(cross_modal_text_transform->bias);
  collector.add(cross_modal_image_transform->bias);
  for (int64_t level = 0; level < levels_; ++level) {
    if (level == 0) {
      collector.add(cross_modal_text_transform->weight);
      collector.add(*cross_modal_text_layernorm);
      collector.add(*visual.ln_post);
      collector.add(cross_modal_image_transform->weight);
      collector.add(*cross_modal_image_layernorm);
    } else {
      add_layer(split_ + level - 1);
      add_block(split_ + level - 1);
      collector.add((*cross_modal_text_link_tower)[level - 1]);
      collector.add((*cross_modal_image_link_tower)[level - 1]);
    }
    collector.add((*cross_modal_text_layers)[level]);
    collector.add((*cross_modal_image_layers)[level]);
  }
  collector.add(*cross_modal_text_pooler);
  collector.add(*cross_modal_image_pooler);
  return result;
}

}  // namespace cantilever
