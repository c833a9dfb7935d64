#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "cantilever/io/tensor_view.h"

namespace cantilever {

// Maps a safetensors file and checks all of its header before anything is used: length (at most
// 100 MB as the format's own readers), JSON, dtypes, shapes (no overflow), offsets (no gap, no
// overlap, no byte left over). Throws Error with file, tensor and value; a Git LFS pointer, a
// PyTorch zip, an HTML page and a truncated download are named as such with sizes.
std::unique_ptr<WeightFile> open_safetensors(const std::filesystem::path& path);

// Writes the bytes that the safetensors library writes for the same tensors: largest types first,
// then by name, header padded to 8 bytes. Atomic (beside, fsync, rename). Transformers wants
// metadata
// {"format": "pt"}. Throws Error on a duplicate name or a failed write.
void write_safetensors(const std::filesystem::path& path, std::vector<TensorView> tensors,
                       const std::map<std::string, std::string>& metadata = {{"format", "pt"}});

}  // namespace cantilever
