#include "cantilever/model/activation.h"

#include <ATen/ops/clamp.h>
#include <ATen/ops/erf.h>
#include <ATen/ops/gelu.h>
#include <ATen/ops/hardswish.h>
#include <ATen/ops/hardtanh.h>
#include <ATen/ops/leaky_relu.h>
#include <ATen/ops/mish.h>
#include <ATen/ops/mul.h>
#include <ATen/ops/relu.h>
#include <ATen/ops/sigmoid.h>
#include <ATen/ops/silu.h>
#include <ATen/ops/softplus.h>
#include <ATen/ops/sqrt.h>
#include <ATen/ops/tanh.h>

#include <array>
#include <cmath>
#include <string_view>

#include "cantilever/base/error.h"

namespace cantilever {
namespace {

using Function = at::Tensor (*)(const at::Tensor&);

struct Row {
  std::string_view name;
  Function function;
};

at::Tensor gelu_erf(const at::Tensor& x) {
  return at::gelu(x);
}
at::Tensor gelu_tanh(const at::Tensor& x) {
  return at::gelu(x, "tanh");
}
at::Tensor gelu_clipped(const at::Tensor& x) {
  return at::clamp(at::gelu(x), -10, 10);
}
at::Tensor identity(const at::Tensor& x) {
  return x;
}

// Ma et al. 2022 (MEGA): a normal distribution function with these two moments.
at::Tensor laplace(const at::Tensor& x) {
  constexpr double kMean = 0.707107;
  constexpr double kDeviation = 0.282095;
  return 0.5 * (1.0 + at::erf((x - kMean) / (kDeviation * std::sqrt(2.0))));
}

at::Tensor relu_squared(const at::Tensor& x) {
  const at::Tensor positive = at::relu(x);
  return positive * positive;
}

constexpr std::array<Row, 22> kRows = {{
    {"gelu", gelu_erf},
    {"gelu_10", gelu_clipped},
    {"gelu_accurate", gelu_tanh},
    {"gelu_fast", gelu_tanh},
    {"gelu_new", gelu_tanh},
    {"gelu_python", gelu_erf},
    {"gelu_python_tanh", gelu_tanh},
    {"gelu_pytorch_tanh", gelu_tanh},
    {"hardswish", [](const at::Tensor& x) { return at::hardswish(x); }},
    {"laplace", laplace},
    {"leaky_relu", [](const at::Tensor& x) { return at::leaky_relu(x, 0.01); }},
    {"linear", identity},
    {"mish", [](const at::Tensor& x) { return at::mish(x); }},
    {"quick_gelu", [](const at::Tensor& x) { return x * at::sigmoid(1.702 * x); }},
    {"relu", [](const at::Tensor& x) { return at::relu(x); }},
    {"relu2", relu_squared},
    {"relu6", [](const at::Tensor& x) { return at::hardtanh(x, 0, 6); }},
    {"sigmoid", [](const at::Tensor& x) { return at::sigmoid(x); }},
    {"silu", [](const at::Tensor& x) { return at::silu(x); }},
    {"sqrtsoftplus", [](const at::Tensor& x) { return at::sqrt(at::softplus(x)); }},
    {"swish", [](const at::Tensor& x) { return at::silu(x); }},
    {"tanh", [](const at::Tensor& x) { return at::tanh(x); }},
}};

const Row* find(const std::string& name) {
  for (const Row& row : kRows) {
    if (row.name == name) return &row;
  }
  return nullptr;
}

}  // namespace

at::Tensor apply_activation(const std::string& name, const at::Tensor& x) {
  const Row* row = find(name);
  CANTILEVER_ASSERT(row != nullptr, name);
  return row->function(x);
}

bool is_known_activation(const std::string& name) {
  return find(name) != nullptr;
}

std::string known_activations() {
  std::string names;
  for (const Row& row : kRows) names += (names.empty() ? "" : ", ") + std::string(row.name);
  return names;
}

}  // namespace cantilever
