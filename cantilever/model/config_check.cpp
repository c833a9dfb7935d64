#include <string>

#include "cantilever/base/error.h"
#include "cantilever/model/activation.h"
#include "cantilever/model/config.h"

namespace cantilever {
namespace {

// Messages: "WHERE: KEY is VALUE; WHY".
class Checker {
 public:
  explicit Checker(const std::string& where) : where_(where) {}

  template <class T>
  void require(bool condition, const char* key, const T& value, const std::string& why) const {
    CANTILEVER_CHECK(condition, where_, ": ", key, " is ", value, "; ", why);
  }
  void at_least(const char* key, int64_t value, int64_t least) const {
    require(value >= least, key, value, concat("it must be at least ", least));
    require(value <= kLargest, key, value, concat("it must be at most ", kLargest));
  }
  void layers(const char* key, int64_t value) const {
    at_least(key, value, 1);
    require(value <= kMostLayers, key, value, concat("it must be at most ", kMostLayers));
  }
  void rate(const char* key, double value) const {
    require(value >= 0 && value < 1, key, value, "a dropout rate lies in [0, 1)");
  }
  void positive(const char* key, double value) const {
    require(value > 0 && value < 1e30, key, value, "it must be positive");
  }

 private:
  // Far beyond any model, small enough that products of two sizes fit 64 bits.
  static constexpr int64_t kLargest = 1 << 24;
  static constexpr int64_t kMostLayers = 1000;
  const std::string& where_;
};

void check_text(const BridgeTowerConfig& config, const Checker& check) {
  const BridgeTowerTextConfig& text = config.text_config;
  check.at_least("text_config.vocab_size", text.vocab_size, 1);
  check.at_least("text_config.hidden_size", text.hidden_size, 1);
  check.layers("text_config.num_hidden_layers", text.num_hidden_layers);
  check.at_least("text_config.num_attention_heads", text.num_attention_heads, 1);
  check.at_least("text_config.intermediate_size", text.intermediate_size, 1);
  check.at_least("text_config.max_position_embeddings", text.max_position_embeddings, 1);
  check.at_least("text_config.type_vocab_size", text.type_vocab_size, 1);
  check.at_least("text_config.pad_token_id", text.pad_token_id, 0);
  check.rate("text_config.hidden_dropout_prob", text.hidden_dropout_prob);
  check.rate("text_config.attention_probs_dropout_prob", text.attention_probs_dropout_prob);
  check.positive("text_config.layer_norm_eps", text.layer_norm_eps);
  check.require(is_known_activation(text.hidden_act), "text_config.hidden_act",
                quoted(text.hidden_act), "known activations: " + known_activations());
  check.require(text.hidden_size % text.num_attention_heads == 0, "text_config.num_attention_heads",
                text.num_attention_heads,
                concat("it must divide text_config.hidden_size ", text.hidden_size));
  check.require(text.pad_token_id < text.vocab_size, "text_config.pad_token_id", text.pad_token_id,
                concat("it must be an id below text_config.vocab_size ", text.vocab_size));
  check.require(text.pad_token_id + 1 < text.max_position_embeddings,
                "text_config.max_position_embeddings", text.max_position_embeddings,
                concat("positions start at pad_token_id + 1 = ", text.pad_token_id + 1));
  check.require(
      text.hidden_size == config.hidden_size, "text_config.hidden_size", text.hidden_size,
      concat("the cross-modal layers need it to be equal to hidden_size ", config.hidden_size));
}

void check_vision(const BridgeTowerConfig& config, const Checker& check) {
  const BridgeTowerVisionConfig& vision = config.vision_config;
  check.at_least("vision_config.hidden_size", vision.hidden_size, 64);
  check.layers("vision_config.num_hidden_layers", vision.num_hidden_layers);
  check.at_least("vision_config.num_channels", vision.num_channels, 1);
  check.at_least("vision_config.patch_size", vision.patch_size, 1);
  check.at_least("vision_config.image_size", vision.image_size, 1);
  check.positive("vision_config.layer_norm_eps", vision.layer_norm_eps);
  check.require(vision.image_size <= 1 << 16, "vision_config.image_size", vision.image_size,
                "pictures of more than 65536 pixels a side are not supported");
  check.require(vision.patch_size <= vision.image_size, "vision_config.patch_size",
                vision.patch_size,
                concat("it must not exceed vision_config.image_size ", vision.image_size));
  check.require(vision.hidden_size % (vision.hidden_size / 64) == 0, "vision_config.hidden_size",
                vision.hidden_size,
                concat("it must be a multiple of its number of heads, ", vision.hidden_size / 64,
                       " (hidden_size / 64)"));
  check.require(
      vision.hidden_size == config.hidden_size, "vision_config.hidden_size", vision.hidden_size,
      concat("contrastive learning needs it to be equal to hidden_size ", config.hidden_size));
  check.require(!vision.remove_last_layer || vision.num_hidden_layers > 1,
                "vision_config.remove_last_layer", "true", "no vision block would be left");
  const int64_t blocks = vision.num_hidden_layers - (vision.remove_last_layer ? 1 : 0);
  const char* key = vision.remove_last_layer ? "vision_config.remove_last_layer"
                                             : "vision_config.num_hidden_layers";
  check.require(blocks >= config.text_config.num_hidden_layers, key,
                vision.remove_last_layer ? "true" : std::to_string(blocks),
                concat("every text layer needs a vision block, and there would be ", blocks,
                       " blocks for ", config.text_config.num_hidden_layers, " text layers"));
}

// Fields that the library reads although BridgeTower's own configuration class hardly mentions
// them.
void check_source(const BridgeTowerConfig& config, const Checker& check) {
  const auto found = config.source.find("text_config");
  if (found == config.source.end() || !found->is_object()) return;
  const Json& text = *found;
  const auto value = [&](const char* key) {
    const auto member = text.find(key);
    return member == text.end() ? Json() : *member;
  };
  check.require(value("add_cross_attention") != true, "text_config.add_cross_attention", "true",
                "a text tower with cross attention of its own is not supported");
  const Json position = value("position_embedding_type");
  check.require(position.is_null() || position == "absolute", "text_config.position_embedding_type",
                position.dump(), "only 'absolute' positions are supported");
  const Json chunk = value("chunk_size_feed_forward");
  if (chunk.is_number_integer() && chunk != 0) {
    const auto size = chunk.get<int64_t>();
    check.require(size > 0 && config.vision_config.image_tokens() % size == 0,
                  "text_config.chunk_size_feed_forward", size,
                  concat("it must be 0 or divide the ", config.vision_config.image_tokens(),
                         " image tokens"));
  }
}

}  // namespace

void BridgeTowerConfig::check(const std::string& where) const {
  const Checker check(where);
  check.at_least("hidden_size", hidden_size, 1);
  check.layers("num_hidden_layers", num_hidden_layers);
  check.positive("layer_norm_eps", layer_norm_eps);
  check.require(link_tower_type == "add" || link_tower_type == "scaled_add" ||
                    link_tower_type == "interpolate",
                "link_tower_type", quoted(link_tower_type),
                "known types: add, scaled_add, interpolate");
  check.require(share_cross_modal_transformer_layers, "share_cross_modal_transformer_layers",
                "false", "contrastive learning cannot run with separate transforms for each level");
  check.require(!share_link_tower_layers, "share_link_tower_layers", "true",
                "no version of the model can run with shared link towers");
  check.require(vision_config.share_layernorm || !init_layernorm_from_vision_encoder,
                "init_layernorm_from_vision_encoder", "true",
                "it cannot be combined with vision_config.share_layernorm false");
  if (contrastive_hidden_size)
    check.at_least("contrastive_hidden_size", *contrastive_hidden_size, 1);
  check_text(*this, check);
  check.require(num_hidden_layers <= text_config.num_hidden_layers + 1, "num_hidden_layers",
                num_hidden_layers,
                concat("every cross-modal level but the first needs a text layer, and there are ",
                       text_config.num_hidden_layers));
  check_vision(*this, check);
  check_source(*this, check);
}

}  // namespace cantilever
