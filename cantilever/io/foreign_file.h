#pragma once

#include <cstddef>
#include <span>
#include <string>

namespace cantilever {

// What a file that is not the expected kind seems to be instead, by its first bytes, and what to
// do: Git LFS pointer, PyTorch zip, old PyTorch pickle, safetensors, HTML or XML page, JSON text,
// gzip, HDF5, GGUF. Empty when nothing is recognised. Used by the .cpp files of this room only.
std::string describe_foreign_file(std::span<const std::byte> content);

}  // namespace cantilever
