#pragma once

#include <filesystem>
#include <memory>

#include "cantilever/io/tensor_view.h"

namespace cantilever {

// Opens the weights of a model folder, or one weight file. In a folder the first of these that is
// there: model.safetensors, model.safetensors.index.json (shards), pytorch_model.bin,
// pytorch_model.bin.index.json (shards). Throws Error that lists what was looked for.
//
// An index is checked whole: shards are files in or below the folder of the index, all of them are
// there, and each holds the tensors that the index promises. Tensors of a shard that the index does
// not mention are kept (as Transformers does); of two with one name the one the index points at.
std::unique_ptr<WeightFile> open_weights(const std::filesystem::path& file_or_folder);

}  // namespace cantilever
