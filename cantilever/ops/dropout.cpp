#include "cantilever/ops/dropout.h"

#include <ATen/Parallel.h>
#include <ATen/ops/empty_like.h>
#include <torch/csrc/autograd/custom_function.h>

#include <algorithm>
#include <cmath>

#include "cantilever/base/error.h"
#include "cantilever/ops/dropout_kernels.h"

namespace cantilever {
namespace {

constexpr int64_t kGrain = 16384;  // elements a task at least has

DropoutMask make_mask(double p, uint64_t key) {
  CANTILEVER_CHECK(p >= 0 && p < 1, "dropout: rate ", p, " is not in [0, 1)");
  return {key, static_cast<uint64_t>(std::ceil(p * 4294967296.0)),
          static_cast<float>(1.0 / (1.0 - p))};
}

at::Tensor apply_mask(const at::Tensor& x, const DropoutMask& mask) {
  CANTILEVER_ASSERT(x.scalar_type() == at::kFloat && x.device().is_cpu(),
                    "dropout is float32 on CPUs");
  const at::Tensor source = x.contiguous();
  at::Tensor result = at::empty_like(source);
  const float* from = source.const_data_ptr<float>();
  float* to = result.mutable_data_ptr<float>();
  const int64_t count = source.numel();
  const int64_t groups = (count + kDropoutGroup - 1) / kDropoutGroup;
  const DropoutKernel kernel = dropout_kernels().front().function;
  at::parallel_for(0, groups, kGrain / kDropoutGroup, [&](int64_t first, int64_t last) {
    const int64_t begin = first * kDropoutGroup;
    const int64_t end = std::min(last * kDropoutGroup, count);
    kernel(from + begin, to + begin, begin, end - begin, mask);
  });
  return result;
}

// Saves rate and key, not the mask.
class Dropout : public torch::autograd::Function<Dropout> {
 public:
  static at::Tensor forward(torch::autograd::AutogradContext* context, const at::Tensor& x,
                            double p, int64_t key) {
    context->saved_data["p"] = p;
    context->saved_data["key"] = key;
    return apply_mask(x, make_mask(p, static_cast<uint64_t>(key)));
  }

  static torch::autograd::variable_list backward(torch::autograd::AutogradContext* context,
                                                 torch::autograd::variable_list gradients) {
    const DropoutMask mask = make_mask(context->saved_data["p"].toDouble(),
                                       static_cast<uint64_t>(context->saved_data["key"].toInt()));
    return {apply_mask(gradients[0], mask), at::Tensor(), at::Tensor()};
  }
};

}  // namespace

at::Tensor dropout(const at::Tensor& x, double p, uint64_t key) {
  if (p == 0) return x;
  make_mask(p, key);  // refuses a bad rate before anything is recorded
  return Dropout::apply(x, p, static_cast<int64_t>(key));
}

}  // namespace cantilever
