#include "cantilever/model/initialize.h"

#include <ATen/Parallel.h>
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>

#include "cantilever/model/contrastive.h"

namespace cantilever::test {
namespace {

// Means and deviations of a fresh model in Transformers, with different factors for the three parts
// (tools/goldens/make_initialization_golden.py).
TEST(Initialize, DrawsFromTheLibrarysDistributions) {
  const auto path =
      std::filesystem::path(CANTILEVER_TEST_ROOT) / "golden" / "model" / "initialization.json";
  const Json golden = read_json(path);
  const BridgeTowerConfig config = BridgeTowerConfig::from_json(golden["config"], path.string());
  ModelOptions options;
  options.text_pooler = true;
  BridgeTowerForContrastiveLearning model(config, options);
  model.initialize(7);
  const auto parameters = model.named_parameters();
  ASSERT_EQ(parameters.size(), golden["parameters"].size());
  for (const auto& item : parameters) {
    const Json& expected = golden["parameters"][item.key()];
    ASSERT_FALSE(expected.is_null()) << item.key();
    const at::Tensor value = item.value().detach().to(at::kDouble);
    const auto count = static_cast<double>(value.numel());
    const double mean = value.mean().item<double>();
    const double std = std::sqrt((value - mean).square().mean().item<double>());
    const double wanted_std = expected["std"].get<double>();
    const double wanted_mean = expected["mean"].get<double>();
    if (wanted_std == 0) {
      EXPECT_EQ(std, 0) << item.key();
      EXPECT_NEAR(mean, wanted_mean, 1e-7) << item.key();
      continue;
    }
    // Two samples of `count` draws: means differ by std sqrt(2 / count), deviations by std /
    // sqrt(count).
    EXPECT_NEAR(mean, wanted_mean, 6 * wanted_std * std::sqrt(2 / count)) << item.key();
    EXPECT_NEAR(std, wanted_std, 6 * wanted_std / std::sqrt(count)) << item.key();
    const Distribution stated = initial_distribution(item.key(), config);
    EXPECT_NEAR(stated.std, wanted_std, 5 * wanted_std / std::sqrt(count)) << item.key();
  }
}

TEST(Initialize, IsNormal) {
  BridgeTowerConfig config = BridgeTowerConfig::of_size("tiny", 4000);
  BridgeTowerForContrastiveLearning model(config, {});
  model.initialize(1);
  const at::Tensor values =
      model.named_parameters()["bridgetower.text_model.embeddings.word_embeddings.weight"]
          .detach()
          .to(at::kDouble) /
      0.05;
  const auto count = static_cast<double>(values.numel());  // 256,000
  const double limit = 5 / std::sqrt(count);
  EXPECT_NEAR(values.mean().item<double>(), 0, limit);
  EXPECT_NEAR(values.square().mean().item<double>(), 1, limit * std::sqrt(2.0));
  EXPECT_NEAR(values.pow(3).mean().item<double>(), 0, limit * std::sqrt(15.0));
  EXPECT_NEAR(values.pow(4).mean().item<double>(), 3, limit * std::sqrt(96.0));
  for (const double x : {-2.0, -1.0, 0.0, 0.5, 1.5, 3.0}) {
    const double share = values.lt(x).sum().item<double>() / count;
    EXPECT_NEAR(share, 0.5 * std::erfc(-x / std::sqrt(2.0)), limit / 2) << x;
  }
  // Neighbours are independent.
  const at::Tensor flat = values.flatten();
  for (const int64_t distance : {1, 2, 3, 4}) {
    const int64_t rest = flat.numel() - distance;
    EXPECT_NEAR((flat.narrow(0, 0, rest) * flat.narrow(0, distance, rest)).mean().item<double>(), 0,
                limit);
  }
}

TEST(Initialize, DependsOnTheSeedNotOnThreads) {
  const BridgeTowerConfig config = BridgeTowerConfig::of_size("tiny", 600);
  const auto make = [&](uint64_t seed, int threads) {
    const int before = at::get_num_threads();
    at::set_num_threads(threads);
    auto model = std::make_unique<BridgeTowerForContrastiveLearning>(config, ModelOptions());
    model->initialize(seed);
    at::set_num_threads(before);
    return model;
  };
  const auto one = make(5, 1), two = make(5, 2), other = make(6, 1);
  size_t different = 0;
  for (const auto& item : one->named_parameters()) {
    EXPECT_TRUE(item.value().equal(two->named_parameters()[item.key()])) << item.key();
    if (!item.value().equal(other->named_parameters()[item.key()])) ++different;
  }
  EXPECT_GT(different, 60U);
  const auto parameters = one->named_parameters();
  EXPECT_FALSE(
      parameters["bridgetower.text_model.encoder.layer.0.attention.self.query.weight"].equal(
          parameters["bridgetower.text_model.encoder.layer.0.attention.self.key.weight"]));
}

}  // namespace
}  // namespace cantilever::test
