#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

#include "cantilever/io/json.h"

namespace cantilever {

// The fields of Transformers' BridgeTowerTextConfig that matter, with its defaults.
struct BridgeTowerTextConfig {
  int64_t vocab_size = 50265;
  int64_t hidden_size = 768;
  int64_t num_hidden_layers = 12;
  int64_t num_attention_heads = 12;
  double initializer_factor = 1;
  int64_t intermediate_size = 3072;
  std::string hidden_act = "gelu";
  double hidden_dropout_prob = 0.1;
  double attention_probs_dropout_prob = 0.1;
  int64_t max_position_embeddings = 514;
  int64_t type_vocab_size = 1;
  double layer_norm_eps = 1e-5;
  int64_t pad_token_id = 1;
};

// BridgeTowerVisionConfig. Heads are hidden_size / 64, the MLP is 4 * hidden_size wide.
struct BridgeTowerVisionConfig {
  int64_t hidden_size = 768;
  int64_t num_hidden_layers = 12;
  int64_t num_channels = 3;
  int64_t patch_size = 16;
  int64_t image_size = 288;
  double initializer_factor = 1;
  double layer_norm_eps = 1e-5;
  bool stop_gradient = false;
  bool share_layernorm = true;
  bool remove_last_layer = false;

  int64_t image_tokens() const;  // (image_size / patch_size)^2 + 1, the class token first
};

struct BridgeTowerConfig {
  bool share_cross_modal_transformer_layers = true;
  std::string hidden_act = "gelu";
  int64_t hidden_size = 768;
  double initializer_factor = 1;
  double layer_norm_eps = 1e-5;
  bool share_link_tower_layers = false;
  std::string link_tower_type = "add";  // add, scaled_add, interpolate
  int64_t num_attention_heads = 12;
  int64_t num_hidden_layers = 6;
  bool tie_word_embeddings = false;
  bool init_layernorm_from_vision_encoder = false;
  std::optional<int64_t> contrastive_hidden_size;
  std::optional<double> logit_scale_init_value;
  BridgeTowerTextConfig text_config;
  BridgeTowerVisionConfig vision_config;

  // The JSON it was read from: unknown keys are kept and written back.
  Json source = Json::object();

  // Throws Error with file, key and value: for JSON of another model type, for wrong types, and
  // check() is called.
  static BridgeTowerConfig from_json(const Json& json, const std::string& where);
  static BridgeTowerConfig from_folder(const std::filesystem::path& folder);
  // "tiny", "small", "base", "large" (bridgetower.md 1.2; tiny and small are our test sizes).
  static BridgeTowerConfig of_size(const std::string& size, int64_t vocab_size);

  // What save_pretrained of Transformers 5.24 writes for this model.
  Json to_json() const;

  // Values that the Python class accepts and cannot run for the contrastive class (bridgetower.md
  // 13 and 15), impossible geometry, unknown activations or link towers: Error naming key and
  // value. Missing contrastive_hidden_size is no error here (see load in checkpoint_loader.h).
  void check(const std::string& where) const;
};

}  // namespace cantilever
