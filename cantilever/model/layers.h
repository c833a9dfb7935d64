#pragma once

#include <ATen/core/Tensor.h>
#include <torch/nn/module.h>

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace cantilever {

// Parameter holders with PyTorch's names. Unlike torch::nn's they do not fill their memory: a model
// is always loaded or initialised afterwards, and resetting 300 million values twice takes seconds.

// y = x W^T + b.
struct Linear : public torch::nn::Module {
  Linear(int64_t in, int64_t out);
  at::Tensor forward(const at::Tensor& x) const;  // [..., in] -> [..., out]

  at::Tensor weight;  // [out, in]
  at::Tensor bias;    // [out]
};

// Over the last dimension.
struct LayerNorm : public torch::nn::Module {
  LayerNorm(int64_t width, double epsilon);
  at::Tensor forward(const at::Tensor& x) const;  // [..., width]

  at::Tensor weight;  // [width]
  at::Tensor bias;    // [width]
  double epsilon_;
};

struct Embedding : public torch::nn::Module {
  // padding: the row whose gradient stays zero, or -1.
  Embedding(int64_t rows, int64_t width, int64_t padding = -1);
  at::Tensor forward(const at::Tensor& ids) const;  // [...] -> [..., width]

  at::Tensor weight;  // [rows, width]
  int64_t padding_;
};

// torch.nn.ModuleList: items are named "0", "1" ...
template <class T>
class ModuleList : public torch::nn::Module {
 public:
  template <class... Arguments>
  void append(Arguments&&... arguments) {
    items_.push_back(register_module(std::to_string(items_.size()),
                                     std::make_shared<T>(std::forward<Arguments>(arguments)...)));
  }
  const T& operator[](int64_t index) const { return *items_.at(static_cast<size_t>(index)); }
  int64_t size() const { return static_cast<int64_t>(items_.size()); }

 private:
  std::vector<std::shared_ptr<T>> items_;
};

}  // namespace cantilever
