// The whole model against stored results of Transformers (tools/goldens/make_model_goldens.py).

#include <ATen/ops/cat.h>
#include <ATen/ops/linalg_vector_norm.h>
#include <ATen/ops/stack.h>
#include <gtest/gtest.h>

#include <map>

#include "cantilever/io/weights.h"
#include "cantilever/model/contrastive.h"
#include "tests/model/formula.h"
#include "tests/model/golden_pass.h"
#include "tests/model/model_fixtures.h"

namespace cantilever::test {
namespace {

constexpr double kLearningRate = 1e-4;

// Softmax does not see key biases: their gradient is rounding noise, of which Adam makes full
// steps.
bool is_noise(const std::string& name) {
  return name.ends_with(".key.bias");
}

// The rows of keys in in_proj_bias are noise as well.
at::Tensor without_noise(const std::string& name, const at::Tensor& tensor) {
  if (!name.ends_with(".in_proj_bias")) return tensor;
  at::Tensor copy = tensor.clone();
  copy.narrow(0, copy.size(0) / 3, copy.size(0) / 3).zero_();
  return copy;
}

double largest(const at::Tensor& tensor) {
  return tensor.abs().max().item<double>();
}

// Stored samples: largest element, norm, product with a probe, elements at equal distances.
void expect_samples(const std::string& name, const at::Tensor& actual, const at::Tensor& stored,
                    double limit) {
  const at::Tensor flat = actual.to(at::kDouble).flatten();
  const at::Tensor probe = formula(name + ".probe", {flat.numel()}, 0, 1).to(at::kDouble);
  const double scale = stored[0].item<double>();
  const double spread = std::sqrt(static_cast<double>(flat.numel())) * scale;
  EXPECT_NEAR(largest(flat), scale, limit * scale) << name;
  EXPECT_NEAR(at::linalg_vector_norm(flat).item<double>(), stored[1].item<double>(), limit * spread)
      << name;
  EXPECT_NEAR(flat.dot(probe).item<double>(), stored[2].item<double>(), limit * spread) << name;
  const int64_t distance = std::max<int64_t>(1, flat.numel() / 24);
  for (int64_t i = 3; i < stored.size(0); ++i) {
    EXPECT_NEAR(flat[(i - 3) * distance].item<double>(), stored[i].item<double>(), limit * scale)
        << name << " element " << (i - 3) * distance;
  }
}

class Golden : public ::testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    const auto folder = std::filesystem::path(CANTILEVER_TEST_ROOT) / "golden" / "model";
    file_ = open_weights(folder / (std::string(GetParam()) + ".safetensors"));
    config_ = golden_config(GetParam());
    const int64_t side = config_.vision_config.image_size;
    pixel_values_ = formula("pixel_values", {3, 3, side, side}, 0, 4);
  }

  std::map<std::string, at::Tensor> run(bool trim) {
    GoldenOptions options;
    options.steps = 10;
    options.learning_rate = kLearningRate;
    options.trim = trim;
    const auto model = formula_model(config_);
    const NamedTensors tensors =
        run_golden(*model, pixel_values_, read_tensor(*file_, "input.input_ids"),
                   read_tensor(*file_, "input.attention_mask"), options);
    return {tensors.begin(), tensors.end()};
  }

  void compare(const std::map<std::string, at::Tensor>& ours, bool with_hidden) {
    size_t compared = 0;
    for (const auto& [name, expected] : read_tensors(*file_, "")) {
      if (name.starts_with("input.") || (!with_hidden && name.starts_with("hidden."))) continue;
      ++compared;
      ASSERT_TRUE(ours.contains(name)) << name;
      const at::Tensor actual = ours.at(name);
      if (name.starts_with("gradient.")) {
        expect_gradient(name.substr(9), actual, expected);
      } else if (name.starts_with("parameter.")) {
        expect_parameter(name.substr(10), actual, expected);
      } else {
        ASSERT_EQ(actual.sizes(), expected.sizes()) << name;
        const double limit = name == "output.loss"           ? 1e-6
                             : name == "training.loss"       ? 2e-5
                             : name.starts_with("training.") ? 5e-5
                                                             : 1e-5;
        EXPECT_LE(largest(actual - expected), limit * largest(expected)) << name;
        if (name == "training.loss") {
          EXPECT_TRUE(actual.allclose(expected, 2e-5, 0)) << actual << expected;
        }
      }
    }
    EXPECT_GT(compared, 200U);
  }

 private:
  static void expect_gradient(const std::string& name, const at::Tensor& actual,
                              const at::Tensor& expected) {
    if (is_noise(name)) {
      // Nothing but rounding: far below any real gradient of the model.
      EXPECT_LT(largest(actual), 1e-5) << name;
    } else if (name.ends_with(".in_proj_bias")) {
      EXPECT_NEAR(largest(without_noise(name, actual)), expected[0].item<double>(),
                  1e-4 * expected[0].item<double>());
    } else {
      expect_samples(name, actual, expected, 1e-4);
    }
  }

  // Where a gradient is nearly zero, Adam follows its rounding noise for up to a step.
  static void expect_parameter(const std::string& name, const at::Tensor& actual,
                               const at::Tensor& expected) {
    if (is_noise(name) || name.ends_with(".in_proj_bias")) return;
    const double limit = (1e-5 + kLearningRate / 4) / expected[0].item<double>();
    expect_samples(name, actual, expected, limit);
  }

 protected:
  BridgeTowerConfig config_;
  std::unique_ptr<WeightFile> file_;
  at::Tensor pixel_values_;
};

TEST_P(Golden, PassGradientsAndTenSteps) {
  compare(run(/*trim=*/false), true);
}

// What training runs: trimmed columns, first tokens only in the last level.
TEST_P(Golden, TrimmedPassIsTheSame) {
  compare(run(/*trim=*/true), false);
}

INSTANTIATE_TEST_SUITE_P(Model, Golden,
                         ::testing::Values("add", "scaled_add", "interpolate", "heads", "uneven"));

}  // namespace
}  // namespace cantilever::test
