#pragma once

#include <ATen/core/Tensor.h>

#include <string>

namespace cantilever {

// The activations of Transformers' ACT2FN that have no parameters of their own, by its names.
// `gelu` is the exact (erf) form; gelu_new, gelu_fast, gelu_python_tanh and gelu_pytorch_tanh are
// one function (the tanh form) that differ in rounding only.
at::Tensor apply_activation(const std::string& name, const at::Tensor& x);

bool is_known_activation(const std::string& name);
std::string known_activations();  // "gelu, gelu_10, ..."

}  // namespace cantilever
