#pragma once

#include <ATen/core/Tensor.h>

#include "cantilever/data/loader/batch_loader.h"

namespace cantilever {

struct BatchTensors {
  at::Tensor pixel_values;    // float32 [B, 3, S, S]
  at::Tensor input_ids;       // int64 [B, L]
  at::Tensor attention_mask;  // int64 [B, L]
};

// Tensors over the memory of `batch` (no copy on the CPU): valid as long as the batch is.
BatchTensors to_tensors(const Batch& batch);

}  // namespace cantilever
