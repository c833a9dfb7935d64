#include "cantilever/model/layers.h"

#include <ATen/ops/embedding.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/layer_norm.h>
#include <ATen/ops/linear.h>

namespace cantilever {

Linear::Linear(int64_t in, int64_t out) {
  weight = register_parameter("weight", at::empty({out, in}));
  bias = register_parameter("bias", at::empty({out}));
}

at::Tensor Linear::forward(const at::Tensor& x) const {
  return at::linear(x, weight, bias);
}

LayerNorm::LayerNorm(int64_t width, double epsilon) : epsilon_(epsilon) {
  weight = register_parameter("weight", at::empty({width}));
  bias = register_parameter("bias", at::empty({width}));
}

at::Tensor LayerNorm::forward(const at::Tensor& x) const {
  return at::layer_norm(x, weight.sizes(), weight, bias, epsilon_);
}

Embedding::Embedding(int64_t rows, int64_t width, int64_t padding) : padding_(padding) {
  weight = register_parameter("weight", at::empty({rows, width}));
}

at::Tensor Embedding::forward(const at::Tensor& ids) const {
  return at::embedding(weight, ids, padding_, false, false);
}

}  // namespace cantilever
