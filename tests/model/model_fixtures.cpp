#include "tests/model/model_fixtures.h"

#include <ATen/Parallel.h>
#include <ATen/ops/full.h>
#include <gtest/gtest.h>

#include "cantilever/model/initialize.h"
#include "tests/model/formula.h"

namespace cantilever::test {
namespace {

// Small models: a second thread costs more than it brings, on a busy machine very much more. Tests
// about threads set their number themselves.
class OneThread : public ::testing::Environment {
  void SetUp() override { at::set_num_threads(1); }
};
[[maybe_unused]] const auto* const kEnvironment =
    ::testing::AddGlobalTestEnvironment(new OneThread);

}  // namespace

BridgeTowerConfig golden_config(const std::string& name) {
  const auto path =
      std::filesystem::path(CANTILEVER_TEST_ROOT) / "golden" / "model" / (name + ".json");
  return BridgeTowerConfig::from_json(read_json(path), path.string());
}

std::shared_ptr<BridgeTowerForContrastiveLearning> formula_model(const BridgeTowerConfig& config,
                                                                 const ModelOptions& options) {
  auto model = std::make_shared<BridgeTowerForContrastiveLearning>(config, options);
  for (const auto& item : model->named_parameters()) {
    const Distribution fresh = initial_distribution(item.key(), config);
    const at::Tensor values =
        formula(item.key(), item.value().sizes().vec(), fresh.mean, fresh.std == 0 ? 0.125 : 0.25);
    item.value().detach().copy_(values);
  }
  return model;
}

Inputs some_inputs(const BridgeTowerConfig& config, int64_t batch, int64_t length) {
  const int64_t side = config.vision_config.image_size;
  Inputs inputs;
  inputs.pixel_values =
      formula("pixel_values", {batch, config.vision_config.num_channels, side, side}, 0, 4);
  inputs.input_ids = at::full({batch, length}, config.text_config.pad_token_id, at::kLong);
  for (int64_t row = 0; row < batch; ++row) {
    const int64_t used = 3 + (2 * row + 2) % (length - 3);
    for (int64_t i = 0; i < used; ++i) {
      const int64_t word = 5 + (7 * row + 3 * i) % (config.text_config.vocab_size - 5);
      inputs.input_ids[row][i] = i == 0 ? 0 : i == used - 1 ? 2 : word;
    }
  }
  inputs.attention_mask = inputs.input_ids.ne(config.text_config.pad_token_id).to(at::kLong);
  return inputs;
}

}  // namespace cantilever::test
