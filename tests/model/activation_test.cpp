#include "cantilever/model/activation.h"

#include <ATen/ops/tensor.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "cantilever/io/json.h"

namespace cantilever::test {
namespace {

TEST(Activation, EqualsTransformers) {
  const Json golden = read_json(std::filesystem::path(CANTILEVER_TEST_ROOT) / "golden" / "model" /
                                "activations.json");
  const at::Tensor x = at::tensor(golden["x"].get<std::vector<float>>());
  EXPECT_EQ(golden.size(), 23U);
  for (const auto& [name, values] : golden.items()) {
    if (name == "x") continue;
    ASSERT_TRUE(is_known_activation(name)) << name;
    const at::Tensor expected = at::tensor(values.get<std::vector<float>>());
    EXPECT_TRUE(apply_activation(name, x).allclose(expected, 2e-6, 2e-6)) << name;
    EXPECT_NE(known_activations().find(name), std::string::npos);
  }
  EXPECT_FALSE(is_known_activation("gelu "));
  EXPECT_FALSE(is_known_activation("prelu"));
}

}  // namespace
}  // namespace cantilever::test
