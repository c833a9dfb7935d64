#pragma once

// The numbers that tools/goldens/make_model_goldens.py fills parameters and pixels with.

#include <ATen/core/Tensor.h>
#include <ATen/ops/empty.h>

#include <string>
#include <vector>

#include "cantilever/base/rng.h"

namespace cantilever::test {

// base + scale * u, u uniform in [-1/2, 1/2) with 24 bits, a function of name and index.
inline at::Tensor formula(const std::string& name, const std::vector<int64_t>& shape, double base,
                          double scale) {
  uint64_t key = 0xCBF29CE484222325ULL;
  for (const char c : name) key = (key ^ static_cast<unsigned char>(c)) * 0x100000001B3ULL;
  at::Tensor tensor = at::empty(shape, at::kFloat);
  float* values = tensor.mutable_data_ptr<float>();
  for (int64_t i = 0; i < tensor.numel(); ++i) {
    const auto draws = philox4x32({static_cast<uint32_t>(i / 4), 0, 0, 0},
                                  {static_cast<uint32_t>(key), static_cast<uint32_t>(key >> 32)});
    const auto unit = static_cast<float>(draws[static_cast<size_t>(i % 4)] >> 8) * 0x1p-24F - 0.5F;
    values[i] = static_cast<float>(base) + static_cast<float>(scale) * unit;
  }
  return tensor;
}

}  // namespace cantilever::test
