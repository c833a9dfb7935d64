#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <string>

#include "cantilever/model/config.h"

namespace cantilever {

inline constexpr double kLogitScaleInitValue = 2.6592;  // ln(1 / 0.07), as published

// What a fresh parameter holds: the constant `mean`, or draws from N(mean, std^2) when std > 0.
struct Distribution {
  double mean = 0;
  double std = 0;
};

// By the parameter's full name (bridgetower.md 6).
Distribution initial_distribution(const std::string& name, const BridgeTowerConfig& config);

// Fills `parameter` in place. The draws depend on seed, name and index of the element alone:
// neither on threads nor on other parameters.
void initialize_parameter(const std::string& name, const at::Tensor& parameter,
                          const BridgeTowerConfig& config, uint64_t seed);

}  // namespace cantilever
