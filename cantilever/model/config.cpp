#include "cantilever/model/config.h"

#include <array>
#include <cmath>
#include <string_view>
#include <utility>

#include "cantilever/base/error.h"

namespace cantilever {
namespace {

constexpr const char* kTransformersVersion = "5.24.0";

// Reads one object of the configuration with the types that Transformers insists on: no float where
// an integer belongs, no null.
class Reader {
 public:
  Reader(const Json& json, std::string where) : json_(json), where_(std::move(where)) {
    CANTILEVER_CHECK(json.is_object(), where_, " is not a JSON object but ", json.type_name());
  }

  void read(const char* key, int64_t& value) const {
    if (const Json* found = find(key, "an integer", [](const Json& j) { return is_int64(j); })) {
      value = found->get<int64_t>();
    }
  }
  void read(const char* key, double& value) const {
    if (const Json* found = find(key, "a number", [](const Json& j) { return j.is_number(); })) {
      value = found->get<double>();
    }
  }
  void read(const char* key, bool& value) const {
    if (const Json* found =
            find(key, "true or false", [](const Json& j) { return j.is_boolean(); })) {
      value = found->get<bool>();
    }
  }
  void read(const char* key, std::string& value) const {
    if (const Json* found = find(key, "a string", [](const Json& j) { return j.is_string(); })) {
      value = found->get<std::string>();
    }
  }
  template <class T>
  void read(const char* key, std::optional<T>& value) const {
    const auto found = json_.find(key);
    if (found == json_.end() || found->is_null()) return;
    T inner{};
    read(key, inner);
    value = inner;
  }

 private:
  static bool is_int64(const Json& json) {
    return json.is_number_integer() &&
           !(json.is_number_unsigned() && json.get<uint64_t>() > uint64_t{INT64_MAX});
  }

  template <class Predicate>
  const Json* find(const char* key, const char* wanted, Predicate is_right) const {
    const auto found = json_.find(key);
    if (found == json_.end()) return nullptr;
    CANTILEVER_CHECK(is_right(*found), where_, ": ", quoted(key), " is ", quoted(found->dump()),
                     ", not ", wanted);
    return &*found;
  }

  const Json& json_;
  std::string where_;
};

// One list of fields serves reading and writing. `visit(key, member)` is called for each.
template <class Config, class Visitor>
void visit_text(Config& config, Visitor&& visit) {
  visit("vocab_size", config.vocab_size);
  visit("hidden_size", config.hidden_size);
  visit("num_hidden_layers", config.num_hidden_layers);
  visit("num_attention_heads", config.num_attention_heads);
  visit("initializer_factor", config.initializer_factor);
  visit("intermediate_size", config.intermediate_size);
  visit("hidden_act", config.hidden_act);
  visit("hidden_dropout_prob", config.hidden_dropout_prob);
  visit("attention_probs_dropout_prob", config.attention_probs_dropout_prob);
  visit("max_position_embeddings", config.max_position_embeddings);
  visit("type_vocab_size", config.type_vocab_size);
  visit("layer_norm_eps", config.layer_norm_eps);
  visit("pad_token_id", config.pad_token_id);
}

template <class Config, class Visitor>
void visit_vision(Config& config, Visitor&& visit) {
  visit("hidden_size", config.hidden_size);
  visit("num_hidden_layers", config.num_hidden_layers);
  visit("num_channels", config.num_channels);
  visit("patch_size", config.patch_size);
  visit("image_size", config.image_size);
  visit("initializer_factor", config.initializer_factor);
  visit("layer_norm_eps", config.layer_norm_eps);
  visit("stop_gradient", config.stop_gradient);
  visit("share_layernorm", config.share_layernorm);
  visit("remove_last_layer", config.remove_last_layer);
}

template <class Config, class Visitor>
void visit_top(Config& config, Visitor&& visit) {
  visit("share_cross_modal_transformer_layers", config.share_cross_modal_transformer_layers);
  visit("hidden_act", config.hidden_act);
  visit("hidden_size", config.hidden_size);
  visit("initializer_factor", config.initializer_factor);
  visit("layer_norm_eps", config.layer_norm_eps);
  visit("share_link_tower_layers", config.share_link_tower_layers);
  visit("link_tower_type", config.link_tower_type);
  visit("num_attention_heads", config.num_attention_heads);
  visit("num_hidden_layers", config.num_hidden_layers);
  visit("tie_word_embeddings", config.tie_word_embeddings);
  visit("init_layernorm_from_vision_encoder", config.init_layernorm_from_vision_encoder);
  visit("contrastive_hidden_size", config.contrastive_hidden_size);
  visit("logit_scale_init_value", config.logit_scale_init_value);
}

// Writes fields over the JSON they came from. A number that did not change keeps its spelling (1 or
// 1.0), as it does in Python.
struct Writer {
  Json& json;

  void operator()(const char* key, int64_t value) const { json[key] = value; }
  void operator()(const char* key, bool value) const { json[key] = value; }
  void operator()(const char* key, const std::string& value) const { json[key] = value; }
  void operator()(const char* key, double value) const {
    const auto found = json.find(key);
    if (found != json.end() && found->is_number() && found->get<double>() == value) return;
    // The library's own default of initializer_factor is the integer 1.
    if (std::string_view(key) == "initializer_factor" && value == 1) {
      json[key] = 1;
    } else {
      json[key] = value;
    }
  }
  template <class T>
  void operator()(const char* key, const std::optional<T>& value) const {
    if (value) (*this)(key, *value);
  }
};

// What a PreTrainedConfig of 5.24 holds by default and therefore does not write.
void drop_library_defaults(Json& json) {
  static const Json kDefaults = Json::parse(R"({
      "architectures": null, "output_hidden_states": false, "return_dict": true, "dtype": null,
      "chunk_size_feed_forward": 0, "is_encoder_decoder": false, "problem_type": null,
      "output_attentions": false, "id2label": {"0": "LABEL_0", "1": "LABEL_1"},
      "label2id": {"LABEL_0": 0, "LABEL_1": 1}})");
  for (const auto& [key, value] : kDefaults.items()) {
    const auto found = json.find(key);
    if (found != json.end() && *found == value) json.erase(key);
  }
  for (const char* key : {"_name_or_path", "_commit_hash", "_attn_implementation_internal",
                          "attn_implementation", "transformers_version"}) {
    json.erase(key);
  }
}

// Transformers 4 wrote torch_dtype; 5 reads both and writes dtype.
void rename_dtype(Json& json) {
  const auto found = json.find("torch_dtype");
  if (found == json.end()) return;
  if (!json.contains("dtype")) json["dtype"] = *found;
  json.erase("torch_dtype");
}

Json part_of(const Json& source, const char* key) {
  const auto found = source.find(key);
  return found != source.end() && found->is_object() ? *found : Json::object();
}

// Keys in the order of Python's sort_keys=True.
Json sorted(const Json& json) {
  if (!json.is_object()) return json;
  std::map<std::string, Json> members;
  for (const auto& [key, value] : json.items()) members[key] = sorted(value);
  Json result = Json::object();
  for (auto& [key, value] : members) result[key] = std::move(value);
  return result;
}

struct SizeRow {
  const char* name;
  int64_t width, cross_layers, text_layers, heads, ffn, vision_width, vision_layers, side, patch,
      contrastive;
};
constexpr std::array<SizeRow, 4> kSizes = {{
    {"tiny", 64, 2, 2, 4, 128, 64, 2, 64, 16, 32},
    {"small", 256, 2, 4, 4, 1024, 256, 4, 96, 16, 256},
    {"base", 768, 6, 12, 12, 3072, 768, 12, 288, 16, 512},
    {"large", 1024, 6, 24, 16, 4096, 1024, 24, 294, 14, 512},
}};

}  // namespace

int64_t BridgeTowerVisionConfig::image_tokens() const {
  const int64_t grid = image_size / patch_size;
  return grid * grid + 1;
}

BridgeTowerConfig BridgeTowerConfig::from_json(const Json& json, const std::string& where) {
  const Reader reader(json, where);
  std::string model_type = "bridgetower";
  reader.read("model_type", model_type);
  CANTILEVER_CHECK(model_type == "bridgetower", where, ": model_type is ",
                   cantilever::quoted(model_type), "; this program knows 'bridgetower' only");

  BridgeTowerConfig config;
  config.source = json;
  const auto read_with = [](const Reader& from) {
    return [&from](const char* key, auto& member) { from.read(key, member); };
  };
  visit_top(config, read_with(reader));
  for (const char* part : {"text_config", "vision_config"}) {
    const auto found = json.find(part);
    if (found == json.end() || found->is_null()) continue;
    const Reader part_reader(*found, concat(where, ": ", part));
    if (std::string_view(part) == "text_config") {
      visit_text(config.text_config, read_with(part_reader));
    } else {
      visit_vision(config.vision_config, read_with(part_reader));
    }
  }
  config.check(where);
  return config;
}

BridgeTowerConfig BridgeTowerConfig::from_folder(const std::filesystem::path& folder) {
  const std::filesystem::path path = folder / "config.json";
  CANTILEVER_CHECK(std::filesystem::exists(path), path.string(),
                   " does not exist; a model folder holds config.json beside its weights");
  return from_json(read_json(path), path.string());
}

BridgeTowerConfig BridgeTowerConfig::of_size(const std::string& size, int64_t vocab_size) {
  for (const SizeRow& row : kSizes) {
    if (size != row.name) continue;
    BridgeTowerConfig config;
    config.hidden_size = row.width;
    config.num_hidden_layers = row.cross_layers;
    config.num_attention_heads = row.heads;
    config.contrastive_hidden_size = row.contrastive;
    config.logit_scale_init_value = 2.6592;
    config.text_config.vocab_size = vocab_size;
    config.text_config.hidden_size = row.width;
    config.text_config.num_hidden_layers = row.text_layers;
    config.text_config.num_attention_heads = row.heads;
    config.text_config.intermediate_size = row.ffn;
    config.vision_config.hidden_size = row.vision_width;
    config.vision_config.num_hidden_layers = row.vision_layers;
    config.vision_config.image_size = row.side;
    config.vision_config.patch_size = row.patch;
    config.check("size " + size);
    return config;
  }
  throw_error(concat("There is no model size ", quoted(size), "; known: tiny, small, base, large"));
}

Json BridgeTowerConfig::to_json() const {
  Json top = source;
  for (const char* key :
       {"text_config_dict", "vision_config_dict", "text_config", "vision_config"}) {
    top.erase(key);
  }
  rename_dtype(top);
  drop_library_defaults(top);
  visit_top(*this, Writer{top});
  top["model_type"] = "bridgetower";
  top["transformers_version"] = kTransformersVersion;

  Json text = part_of(source, "text_config");
  rename_dtype(text);
  drop_library_defaults(text);
  visit_text(text_config, Writer{text});
  text["model_type"] = "bridgetower_text_model";
  // Declared by the library's class, without effect on this model.
  const std::pair<const char*, Json> text_defaults[] = {{"bos_token_id", 0},
                                                        {"eos_token_id", 2},
                                                        {"use_cache", true},
                                                        {"is_decoder", false},
                                                        {"add_cross_attention", false}};
  for (const auto& [key, value] : text_defaults) {
    if (!text.contains(key)) text[key] = value;
  }

  Json vision = part_of(source, "vision_config");
  rename_dtype(vision);
  drop_library_defaults(vision);
  visit_vision(vision_config, Writer{vision});
  vision["model_type"] = "bridgetower_vision_model";

  top["text_config"] = std::move(text);
  top["vision_config"] = std::move(vision);
  return sorted(top);
}

}  // namespace cantilever
