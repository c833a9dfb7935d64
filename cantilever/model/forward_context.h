#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>

#include "cantilever/base/rng.h"
#include "cantilever/ops/dropout.h"

namespace cantilever {

// What one forward pass needs to know besides its inputs. Every dropout site takes the next number,
// in the order of bridgetower.md 7, so the masks of a pass are a function of `dropout_key` alone:
// the trainer makes the key of (seed, optimiser step, micro-batch).
struct ForwardContext {
  bool training = false;
  uint64_t dropout_key = 0;
  uint64_t next_site = 0;

  at::Tensor dropout(const at::Tensor& x, double p) {
    if (!training || p == 0) return x;
    return cantilever::dropout(x, p, mix_key(dropout_key, next_site++));
  }
};

}  // namespace cantilever
