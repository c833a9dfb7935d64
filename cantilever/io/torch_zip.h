#pragma once

#include <filesystem>
#include <memory>

#include "cantilever/io/tensor_view.h"

namespace cantilever {

// Reads a state dict that torch.save wrote (stored zip or zip64 with a pickle and one record a
// storage). The pickle is interpreted, never executed: only the opcodes and globals of a dict of
// tensors are known (collections.OrderedDict, torch._utils._rebuild_tensor_v2, ..._rebuild_parameter,
// torch.*Storage); anything else is an Error that names it. Contiguous tensors are views of the mapped
// file, others are copied. Legacy (pre-1.6, not a zip) files get their own message.
std::unique_ptr<WeightFile> open_torch_zip(const std::filesystem::path& path);

}  // namespace cantilever
