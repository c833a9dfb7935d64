#include <ATen/ops/empty.h>
#include <ATen/ops/mul.h>

#include <cmath>

#include "cantilever/base/error.h"
#include "cantilever/base/rng.h"
#include "cantilever/ops/dropout.h"

namespace cantilever {

at::Tensor dropout_reference(const at::Tensor& x, double p, uint64_t key) {
  CANTILEVER_CHECK(p >= 0 && p < 1, "dropout: rate ", p, " is not in [0, 1)");
  if (p == 0) return x;
  const double threshold = p * 4294967296.0;
  const auto scale = static_cast<float>(1.0 / (1.0 - p));
  at::Tensor mask = at::empty(x.sizes(), at::kFloat);
  float* values = mask.mutable_data_ptr<float>();
  const std::array<uint32_t, 2> words = {static_cast<uint32_t>(key),
                                         static_cast<uint32_t>(key >> 32)};
  std::array<uint32_t, 4> draws{};
  for (int64_t i = 0; i < mask.numel(); ++i) {
    if (i % 4 == 0) {
      const auto block = static_cast<uint64_t>(i / 4);
      draws = philox4x32({static_cast<uint32_t>(block), static_cast<uint32_t>(block >> 32), 0, 0},
                         words);
    }
    values[i] = draws[static_cast<size_t>(i % 4)] >= threshold ? scale : 0.0F;
  }
  return x * mask;
}

}  // namespace cantilever
