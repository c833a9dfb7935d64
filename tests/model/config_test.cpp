#include "cantilever/model/config.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <functional>

#include "cantilever/base/error.h"
#include "tests/model/model_fixtures.h"

namespace cantilever::test {
namespace {

using testing::HasSubstr;

Json good() {
  return Json::parse(R"({"model_type": "bridgetower", "hidden_size": 64, "num_hidden_layers": 2,
      "num_attention_heads": 4, "contrastive_hidden_size": 32, "logit_scale_init_value": 2.6592,
      "text_config": {"vocab_size": 60, "hidden_size": 64, "num_hidden_layers": 2,
                      "num_attention_heads": 4, "intermediate_size": 128},
      "vision_config": {"hidden_size": 64, "num_hidden_layers": 2, "image_size": 64}})");
}

std::string error_of(const Json& json) {
  try {
    BridgeTowerConfig::from_json(json, "here/config.json");
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

TEST(Config, DefaultsAreTheLibrarys) {
  const BridgeTowerConfig config = BridgeTowerConfig::from_json(Json::object(), "config.json");
  EXPECT_EQ(config.text_config.vocab_size, 50265);
  EXPECT_EQ(config.text_config.hidden_dropout_prob, 0.1);
  EXPECT_EQ(config.vision_config.image_tokens(), 325);
  EXPECT_FALSE(config.contrastive_hidden_size.has_value());
}

// Files of other versions beside what Transformers 5.24 writes after reading them.
TEST(Config, WritesWhatTransformersWrites) {
  for (const char* name : {"config-v4-long", "config-short"}) {
    const auto path = std::filesystem::path(CANTILEVER_TEST_ROOT) / "golden" / "model" /
                      (std::string(name) + ".json");
    const Json golden = read_json(path);
    const BridgeTowerConfig config = BridgeTowerConfig::from_json(golden["written"], name);
    EXPECT_EQ(dump_json(config.to_json(), 2, true) + "\n", golden["text"].get<std::string>())
        << name;
  }
}

TEST(Config, WritesBackWhatTransformersWrote) {
  for (const char* name : {"add", "scaled_add", "interpolate", "heads", "uneven"}) {
    const BridgeTowerConfig config = golden_config(name);
    EXPECT_EQ(dump_json(config.to_json(), 2, true), dump_json(config.source, 2, true)) << name;
  }
}

TEST(Config, OwnSizesHaveTheFieldsOfAFreshModel) {
  const BridgeTowerConfig config = BridgeTowerConfig::of_size("base", 50265);
  const Json json = config.to_json();
  EXPECT_EQ(json["initializer_factor"].dump(), "1");
  EXPECT_EQ(json["text_config"]["use_cache"], true);
  EXPECT_FALSE(json["text_config"].contains("dtype"));
  EXPECT_EQ(json["transformers_version"], "5.24.0");
  const BridgeTowerConfig again = BridgeTowerConfig::from_json(json, "again");
  EXPECT_EQ(again.to_json(), json);
  EXPECT_THROW(BridgeTowerConfig::of_size("huge", 10), Error);
}

TEST(Config, KeepsUnknownKeysAndFollowsChanges) {
  Json json = good();
  json["ours"] = {{"a", 1}};
  json["text_config"]["extra"] = "kept";
  json["use_cache"] = false;
  BridgeTowerConfig config = BridgeTowerConfig::from_json(json, "x");
  config.text_config.vocab_size = 61;
  config.text_config.hidden_dropout_prob = 0;
  const Json written = config.to_json();
  EXPECT_EQ(written["ours"], json["ours"]);
  EXPECT_EQ(written["use_cache"], false);
  EXPECT_EQ(written["text_config"]["extra"], "kept");
  EXPECT_EQ(written["text_config"]["vocab_size"], 61);
  EXPECT_EQ(written["text_config"]["hidden_dropout_prob"].dump(), "0.0");
}

TEST(Config, RefusesOtherModelsAndTypes) {
  EXPECT_EQ(error_of(good()), "no error");
  Json json = good();
  json["model_type"] = "clip";
  EXPECT_THAT(error_of(json), HasSubstr("here/config.json: model_type is 'clip'"));
  EXPECT_THAT(error_of(Json::array()), HasSubstr("is not a JSON object but array"));
  json = good();
  json["text_config"] = 3;
  EXPECT_THAT(error_of(json), HasSubstr("text_config is not a JSON object but number"));
  for (const char* value : {"64.0", "\"64\"", "null", "true", "[64]", "18446744073709551615"}) {
    json = good();
    json["hidden_size"] = Json::parse(value);
    EXPECT_THAT(error_of(json), HasSubstr("'hidden_size' is ")) << value;
  }
  json = good();
  json["text_config"]["hidden_act"] = 1;
  EXPECT_THAT(error_of(json), HasSubstr("text_config: 'hidden_act' is '1', not a string"));
}

// What the Python class accepts and cannot run, and geometry that cannot be.
TEST(Config, NamesWhatCannotRun) {
  struct Row {
    const char* part;
    const char* key;
    const char* value;
    const char* message;
  };
  const Row rows[] = {
      {"", "share_cross_modal_transformer_layers", "false",
       "share_cross_modal_transformer_layers is"},
      {"", "share_link_tower_layers", "true", "share_link_tower_layers is true"},
      {"", "link_tower_type", "\"sum\"", "link_tower_type is 'sum'; known types: add, scaled_add"},
      {"", "hidden_size", "128", "text_config.hidden_size is 64"},
      {"", "num_hidden_layers", "0", "num_hidden_layers is 0"},
      {"", "num_hidden_layers", "4", "num_hidden_layers is 4"},
      {"", "contrastive_hidden_size", "0", "contrastive_hidden_size is 0"},
      {"", "layer_norm_eps", "0", "layer_norm_eps is 0"},
      {"text_config", "num_attention_heads", "5", "text_config.num_attention_heads is 5"},
      {"text_config", "hidden_act", "\"gelu_newest\"", "text_config.hidden_act is 'gelu_newest'"},
      {"text_config", "hidden_act", "\"prelu\"", "text_config.hidden_act is 'prelu'"},
      {"text_config", "hidden_dropout_prob", "1", "text_config.hidden_dropout_prob is 1"},
      {"text_config", "attention_probs_dropout_prob", "-0.1",
       "attention_probs_dropout_prob is -0.1"},
      {"text_config", "pad_token_id", "60", "text_config.pad_token_id is 60"},
      {"text_config", "pad_token_id", "-1", "text_config.pad_token_id is -1"},
      {"text_config", "max_position_embeddings", "2", "text_config.max_position_embeddings is 2"},
      {"text_config", "vocab_size", "99999999999", "text_config.vocab_size is 99999999999"},
      {"text_config", "num_hidden_layers", "1001", "it must be at most 1000"},
      {"text_config", "num_hidden_layers", "3", "vision_config.num_hidden_layers is 2"},
      {"text_config", "add_cross_attention", "true", "text_config.add_cross_attention"},
      {"text_config", "position_embedding_type", "\"relative_key\"", "position_embedding_type"},
      {"text_config", "chunk_size_feed_forward", "3", "text_config.chunk_size_feed_forward is 3"},
      {"vision_config", "remove_last_layer", "true", "vision_config.remove_last_layer is true"},
      {"vision_config", "hidden_size", "32", "vision_config.hidden_size is 32"},
      {"vision_config", "hidden_size", "128", "contrastive learning needs it to be equal"},
      {"vision_config", "hidden_size", "130", "vision_config.hidden_size is 130"},
      {"vision_config", "hidden_size", "129", "it must be a multiple of its number of heads, 2"},
      {"vision_config", "patch_size", "65", "vision_config.patch_size is 65"},
      {"vision_config", "patch_size", "[16, 16]", "'patch_size' is '[16,16]', not an integer"},
      {"vision_config", "image_size", "0", "vision_config.image_size is 0"},
  };
  for (const Row& row : rows) {
    Json json = good();
    Json& part = *row.part == '\0' ? json : json[row.part];
    part[row.key] = Json::parse(row.value);
    EXPECT_THAT(error_of(json), HasSubstr(row.message)) << row.key << " " << row.value;
  }
  Json json = good();
  json["init_layernorm_from_vision_encoder"] = true;
  EXPECT_EQ(error_of(json), "no error");  // without effect
  json["vision_config"]["share_layernorm"] = false;
  EXPECT_THAT(error_of(json), HasSubstr("init_layernorm_from_vision_encoder is true"));
  json = good();
  json["vision_config"]["num_hidden_layers"] = 3;
  json["vision_config"]["remove_last_layer"] = true;
  EXPECT_EQ(error_of(json), "no error");
  json["text_config"]["chunk_size_feed_forward"] = 17;  // the number of image tokens
  EXPECT_EQ(error_of(json), "no error");
}

TEST(Config, ReadsPublishedFiles) {
  const char* corpus = std::getenv("CANTILEVER_CORPUS");
  if (corpus == nullptr) GTEST_SKIP() << "CANTILEVER_CORPUS is not set";
  const std::filesystem::path folder = std::filesystem::path(corpus) / "bridgetower-configs";
  const BridgeTowerConfig large = BridgeTowerConfig::from_folder(folder / "finetune-large-itc");
  EXPECT_EQ(large.contrastive_hidden_size, 512);
  EXPECT_EQ(large.vision_config.image_tokens(), 442);
  EXPECT_EQ(large.text_config.vocab_size, 50265);
  EXPECT_EQ(large.to_json()["head_hidden_scale"], 2);
  EXPECT_EQ(large.to_json()["dtype"], "float32");
  EXPECT_FALSE(large.to_json().contains("torch_dtype"));
  const auto base = folder / "base-partial" / "config.visible-part.json";
  const BridgeTowerConfig partial = BridgeTowerConfig::from_json(read_json(base), base.string());
  EXPECT_EQ(partial.hidden_size, 768);
  EXPECT_FALSE(partial.contrastive_hidden_size.has_value());
  EXPECT_EQ(partial.to_json()["max_text_len"], 50);
}

TEST(Config, NamesAMissingFile) {
  try {
    BridgeTowerConfig::from_folder(std::filesystem::temp_directory_path() / "no-such-model");
    FAIL();
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("config.json does not exist"));
  }
}

}  // namespace
}  // namespace cantilever::test
