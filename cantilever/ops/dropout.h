#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>

namespace cantilever {

// Inverted dropout with a counter-based mask: element i of the tensor (row-major) is kept when the
// i-th 32-bit draw of the Philox stream `key` is at least p * 2^32, and then scaled by 1 / (1 - p).
// The mask depends on key and i alone: not on threads, and the backward makes it again instead of
// storing it. p is in [0, 1); p == 0 returns x itself.
at::Tensor dropout(const at::Tensor& x, double p, uint64_t key);

// The same values by plain tensor operations and autograd (the mask is made on the CPU).
at::Tensor dropout_reference(const at::Tensor& x, double p, uint64_t key);

}  // namespace cantilever
