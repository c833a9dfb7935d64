#pragma once

#include <cstdint>
#include <vector>

namespace cantilever {

// A dropout mask: element i is kept when the i-th draw of the Philox stream of `key` reaches
// `threshold`; a kept element is multiplied by `scale`, another by 0.
struct DropoutMask {
  uint64_t key = 0;
  uint64_t threshold = 0;  // up to 2^32: nothing is kept
  float scale = 1;
};

constexpr int64_t kDropoutGroup = 64;  // elements that a kernel treats at a time

// y[i] = x[i] * factor of the mask, for i in [0, count), where x[0] is element number
// `first` (a multiple of kDropoutGroup) of the tensor.
using DropoutKernel = void (*)(const float* x, float* y, int64_t first, int64_t count,
                               const DropoutMask& mask);

struct NamedDropoutKernel {
  const char* name;
  DropoutKernel function;
};

// Those that this processor can run, the fastest first; "plain" is always the last. All give the
// same bits.
const std::vector<NamedDropoutKernel>& dropout_kernels();

}  // namespace cantilever
