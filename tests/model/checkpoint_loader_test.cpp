#include "cantilever/model/checkpoint_loader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <functional>
#include <map>
#include <span>

#include "cantilever/base/error.h"
#include "cantilever/io/safetensors.h"
#include "cantilever/model/initialize.h"
#include "tests/model/model_fixtures.h"
#include "tests/support/temporary_folder.h"

namespace cantilever::test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

// A checkpoint folder whose tensors a test may change before it is written.
class Checkpoint {
 public:
  explicit Checkpoint(const ModelOptions& options = {}) : config_(golden_config("add").to_json()) {
    const auto model = formula_model(golden_config("add"), options);
    for (const auto& item : model->named_parameters()) {
      const at::Tensor value = item.value().detach();
      const auto* data = static_cast<const float*>(value.data_ptr());
      tensors_[item.key()] = {value.sizes().vec(), {data, data + value.numel()}};
    }
  }

  struct Entry {
    std::vector<int64_t> shape;
    std::vector<float> values;
  };

  void write(DType dtype = DType::kF32) {
    write_json(folder_ / "config.json", config_, 2, true);
    std::vector<TensorView> views;
    std::map<std::string, std::vector<uint16_t>> halves;
    for (const auto& [name, entry] : tensors_) {
      if (dtype == DType::kBF16) {
        std::vector<uint16_t>& half = halves[name];
        for (const float value : entry.values) {
          half.push_back(static_cast<uint16_t>(std::bit_cast<uint32_t>(value) >> 16));
        }
        views.push_back({name, dtype, entry.shape, std::as_bytes(std::span(half))});
      } else {
        views.push_back({name, dtype, entry.shape, std::as_bytes(std::span(entry.values))});
      }
    }
    write_safetensors(folder_ / "model.safetensors", std::move(views));
  }

  std::string error_of(const LoadOptions& options = {}) {
    try {
      load_checkpoint(folder_.path(), options);
    } catch (const Error& error) {
      return error.what();
    }
    return "no error";
  }

  void drop(const std::function<bool(const std::string&)>& which) {
    std::erase_if(tensors_, [&](const auto& item) { return which(item.first); });
  }

  TemporaryFolder folder_;
  Json config_;
  std::map<std::string, Entry> tensors_;
};

bool is_head(const std::string& name) {
  return name.starts_with("itc_") || name == "logit_scale";
}

float loss_of(BridgeTowerForContrastiveLearning& model) {
  ForwardContext context;
  const Inputs inputs = some_inputs(model.config());
  return model.forward(inputs.pixel_values, inputs.input_ids, inputs.attention_mask, context)
      .loss.item<float>();
}

TEST(CheckpointLoader, SavesWhatItLoads) {
  Checkpoint checkpoint;
  checkpoint.write();
  LoadReport report;
  const auto model = load_checkpoint(checkpoint.folder_.path(), {}, &report);
  EXPECT_TRUE(report.forgiven_missing.empty() && report.forgiven_unexpected.empty() &&
              report.fresh.empty());
  const auto parameters = model->named_parameters();
  for (const auto& [name, entry] : checkpoint.tensors_) {
    const at::Tensor value = parameters[name];
    EXPECT_TRUE(std::equal(entry.values.begin(), entry.values.end(),
                           static_cast<const float*>(value.data_ptr())))
        << name;
  }
  const TemporaryFolder other;
  save_checkpoint(*model, other / "saved", {{"use_cache", false}});
  const auto again = load_checkpoint(other / "saved", {});
  EXPECT_EQ(loss_of(*model), loss_of(*again));
  const Json config = read_json(other / "saved" / "config.json");
  EXPECT_EQ(config["architectures"], Json::array({"BridgeTowerForContrastiveLearning"}));
  EXPECT_EQ(config["dtype"], "float32");
  EXPECT_EQ(config["use_cache"], false);
}

TEST(CheckpointLoader, HalfPrecisionBecomesFloat) {
  Checkpoint checkpoint;
  checkpoint.write(DType::kBF16);
  const auto model = load_checkpoint(checkpoint.folder_.path(), {});
  const std::string name = "bridgetower.cross_modal_text_transform.weight";
  const auto expected = std::bit_cast<float>(
      std::bit_cast<uint32_t>(checkpoint.tensors_[name].values[5]) & 0xFFFF0000U);
  EXPECT_EQ(model->named_parameters()[name].flatten()[5].item<float>(), expected);
}

TEST(CheckpointLoader, ReportsAllMismatchesTogether) {
  Checkpoint checkpoint;
  checkpoint.tensors_.erase("bridgetower.vision_model.visual.ln_pre.weight");
  checkpoint.tensors_["bridgetower.stranger"] = {{1}, {1.0F}};
  checkpoint.tensors_["bridgetower.cross_modal_text_layernorm.bias"].shape = {8, 8};
  checkpoint.write();
  const std::string error = checkpoint.error_of();
  EXPECT_THAT(error, HasSubstr("missing (1): 'bridgetower.vision_model.visual.ln_pre.weight'"));
  EXPECT_THAT(error, HasSubstr("unexpected (1): 'bridgetower.stranger'"));
  EXPECT_THAT(error, HasSubstr("bridgetower.cross_modal_text_layernorm.bias [8, 8] for [64]"));
  EXPECT_THAT(error, HasSubstr(checkpoint.folder_.path().string()));
}

TEST(CheckpointLoader, RefusesAModelThatTheWeightsCannotFill) {
  Checkpoint checkpoint;
  checkpoint.config_["hidden_size"] = 1 << 20;
  checkpoint.config_["text_config"]["hidden_size"] = 1 << 20;
  checkpoint.config_["vision_config"]["hidden_size"] = 1 << 20;
  checkpoint.write();
  EXPECT_THAT(checkpoint.error_of(), HasSubstr("they do not belong together"));
}

TEST(CheckpointLoader, RefusesIntegersAsWeights) {
  Checkpoint checkpoint;
  checkpoint.write();
  std::vector<int64_t> integers(64, 1);
  std::vector<TensorView> views;
  for (const auto& [name, entry] : checkpoint.tensors_) {
    views.push_back({name, DType::kF32, entry.shape, std::as_bytes(std::span(entry.values))});
    if (name == "bridgetower.cross_modal_text_layernorm.bias") {
      views.back() = {name, DType::kI64, entry.shape, std::as_bytes(std::span(integers))};
    }
  }
  write_safetensors(checkpoint.folder_ / "model.safetensors", std::move(views));
  EXPECT_THAT(checkpoint.error_of(), HasSubstr("cross_modal_text_layernorm.bias of type I64"));
}

TEST(CheckpointLoader, ForgivesTextPoolerOtherTasksAndPositionIds) {
  Checkpoint checkpoint;
  checkpoint.tensors_["bridgetower.text_model.pooler.dense.bias"] = {{64}, std::vector<float>(64)};
  checkpoint.tensors_["itm_score.fc.bias"] = {{2}, {0, 0}};
  checkpoint.tensors_["mlm_score.bias"] = {{40}, std::vector<float>(40)};
  checkpoint.tensors_["bridgetower.text_model.embeddings.position_ids"] = {{1}, {0}};
  checkpoint.write();
  LoadReport report;
  load_checkpoint(checkpoint.folder_.path(), {}, &report);
  EXPECT_EQ(report.forgiven_unexpected.size(), 4U);

  LoadOptions with_pooler;
  with_pooler.model.text_pooler = true;
  const auto model = load_checkpoint(checkpoint.folder_.path(), with_pooler, &report);
  EXPECT_THAT(report.forgiven_missing, ElementsAre("bridgetower.text_model.pooler.dense.weight"));
  EXPECT_EQ(report.forgiven_unexpected.size(), 3U);
  const at::Tensor fresh =
      model->named_parameters()["bridgetower.text_model.pooler.dense.weight"].detach();
  EXPECT_NEAR(fresh.std().item<float>(), 0.05, 0.005);
}

TEST(CheckpointLoader, MissingHeadsNameTheFlag) {
  Checkpoint checkpoint;
  checkpoint.drop(is_head);
  checkpoint.config_.erase("contrastive_hidden_size");
  checkpoint.config_.erase("logit_scale_init_value");
  checkpoint.write();
  EXPECT_THAT(checkpoint.error_of(), HasSubstr("--contrastive_hidden_size N"));

  LoadOptions options;
  options.contrastive_hidden_size = 20;
  options.seed = 3;
  LoadReport report;
  const auto model = load_checkpoint(checkpoint.folder_.path(), options, &report);
  EXPECT_EQ(report.fresh.size(), 7U);
  const auto parameters = model->named_parameters();
  EXPECT_EQ(parameters["itc_cross_modal_head.fc.weight"].sizes(), (at::IntArrayRef{20, 128}));
  EXPECT_NEAR(parameters["itc_cross_modal_head.fc.weight"].detach().std().item<float>(), 0.05,
              5e-3);
  EXPECT_TRUE(parameters["itc_text_head.fc.bias"].eq(0).all().item<bool>());
  EXPECT_NEAR(model->logit_scale.item<float>(), 2.6592, 1e-6);
  EXPECT_EQ(model->config().to_json()["contrastive_hidden_size"], 20);
  EXPECT_EQ(model->config().to_json()["logit_scale_init_value"], 2.6592);

  const auto same = load_checkpoint(checkpoint.folder_.path(), options);
  EXPECT_EQ(loss_of(*model), loss_of(*same));
  options.seed = 4;
  EXPECT_NE(loss_of(*model), loss_of(*load_checkpoint(checkpoint.folder_.path(), options)));
}

TEST(CheckpointLoader, ExistingHeadsKeepTheirWidth) {
  Checkpoint checkpoint;
  checkpoint.write();
  LoadOptions options;
  options.contrastive_hidden_size = 24;
  EXPECT_EQ(checkpoint.error_of(options), "no error");
  options.contrastive_hidden_size = 25;
  EXPECT_THAT(checkpoint.error_of(options), HasSubstr("contrastive heads of width 24"));
  options.contrastive_hidden_size = 0;
  EXPECT_THAT(checkpoint.error_of(options), HasSubstr("--contrastive_hidden_size is 0"));
}

TEST(CheckpointLoader, HalfTheHeadsAreAMistake) {
  Checkpoint checkpoint;
  checkpoint.drop([](const std::string& name) { return name.starts_with("itc_image_head"); });
  checkpoint.write();
  EXPECT_THAT(checkpoint.error_of(), HasSubstr("missing (2): 'itc_image_head.fc.weight'"));
}

// A file of the bare BridgeTowerModel, as from_pretrained takes it.
TEST(CheckpointLoader, AddsThePrefixOfTheBareModel) {
  Checkpoint checkpoint;
  checkpoint.drop(is_head);
  std::map<std::string, Checkpoint::Entry> bare;
  for (const auto& [name, entry] : checkpoint.tensors_) {
    bare[name.substr(std::string("bridgetower.").size())] = entry;
  }
  checkpoint.tensors_ = bare;
  checkpoint.write();
  LoadOptions options;
  options.contrastive_hidden_size = 24;
  EXPECT_EQ(checkpoint.error_of(options), "no error");
}

TEST(CheckpointLoader, FreshModelsSaveWithoutTypesInTheParts) {
  const BridgeTowerConfig config = BridgeTowerConfig::of_size("tiny", 50);
  BridgeTowerForContrastiveLearning model(config, {});
  model.initialize(1);
  const TemporaryFolder folder;
  save_checkpoint(model, folder.path());
  const Json written = read_json(folder / "config.json");
  EXPECT_FALSE(written["text_config"].contains("dtype"));
  EXPECT_EQ(written["dtype"], "float32");
  EXPECT_EQ(loss_of(model), loss_of(*load_checkpoint(folder.path(), {})));
}

}  // namespace
}  // namespace cantilever::test
