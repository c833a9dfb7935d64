#pragma once

#include <ATen/core/Tensor.h>

#include <memory>

#include "cantilever/model/contrastive.h"

namespace cantilever::test {

// tests/golden/model/NAME.json.
BridgeTowerConfig golden_config(const std::string& name);

// A model of that configuration whose parameters come from formula().
std::shared_ptr<BridgeTowerForContrastiveLearning> formula_model(const BridgeTowerConfig& config,
                                                                 const ModelOptions& options = {});

struct Inputs {
  at::Tensor pixel_values, input_ids, attention_mask;
};

// Some pairs that fit the configuration, captions of different lengths, padded to `length`.
Inputs some_inputs(const BridgeTowerConfig& config, int64_t batch = 3, int64_t length = 9);

}  // namespace cantilever::test
