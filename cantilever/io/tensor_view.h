#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace cantilever {

enum class DType { kBool, kU8, kI8, kU16, kI16, kU32, kI32, kU64, kI64, kF16, kBF16, kF32, kF64 };

size_t byte_size(DType dtype);        // bytes of one element
const char* dtype_name(DType dtype);  // as safetensors spells it: "F32", "BF16", "I64", "BOOL" ...
std::optional<DType> dtype_from_name(std::string_view name);  // the reverse; empty when unknown

// A tensor in somebody else's memory: row-major, contiguous.
struct TensorView {
  std::string name;
  DType dtype = DType::kF32;
  std::vector<int64_t> shape;
  std::span<const std::byte> data;  // exactly numel() * byte_size(dtype) bytes; not always aligned

  int64_t numel() const;
};

std::string format_shape(const std::vector<int64_t>& shape);  // "[2, 3]"; cut after 16

// Converts any floating type to float32 (exact for F16, BF16, F32; rounded for F64). `out` holds
// numel() values. Throws Error naming the tensor for integer and boolean types.
void copy_as_float32(const TensorView& tensor, std::span<float> out);

// The named tensors of a checkpoint: one file, or the shards of an index. Views stay valid while
// the object lives (the files are mapped).
class WeightFile {
 public:
  virtual ~WeightFile() = default;
  virtual const std::vector<TensorView>& tensors() const = 0;  // sorted by name, no name twice
  virtual const std::map<std::string, std::string>& metadata() const = 0;
  virtual std::string description() const = 0;  // path and kind, for messages

  const TensorView* find(std::string_view name) const;  // null when absent
};

}  // namespace cantilever
