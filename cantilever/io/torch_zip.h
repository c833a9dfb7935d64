#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "cantilever/io/tensor_view.h"

namespace cantilever {

// Reads a state dict that torch.save wrote (stored zip or zip64 with a pickle and one record a
// storage). The pickle is interpreted, never executed: only the opcodes and globals of a dict of
// tensors are known (collections.OrderedDict, torch._utils._rebuild_tensor_v2,
// ..._rebuild_parameter, torch.*Storage); anything else is an Error that names it. Contiguous
// tensors are views of the mapped file, others are copied. Legacy (pre-1.6, not a zip) files,
// TorchScript archives and training checkpoints that hold a state dict under a key get their own
// messages.
std::unique_ptr<WeightFile> open_torch_zip(const std::filesystem::path& path);

// Any value of plain Python types and tensors, such as an optimizer.pt or scheduler.pt holds.
struct TorchValue {
  enum class Kind { kNone, kBool, kInt, kFloat, kString, kList, kTuple, kDict, kTensor };

  Kind kind = Kind::kNone;
  int64_t integer = 0;            // kBool (0 or 1), kInt
  double number = 0;              // kFloat
  std::string text;               // kString
  std::vector<TorchValue> keys;   // kDict, in the order of the file; no string or integer key twice
  std::vector<TorchValue> items;  // kList, kTuple; kDict: the values, one a key
  TensorView tensor;              // kTensor; its name is the path to it ("state.0.exp_avg")

  // The value of a dict key; null when absent or this is no dict.
  const TorchValue* find(std::string_view key) const;
  const TorchValue* find(int64_t key) const;
};

// Tensors stay valid while the object lives.
class TorchFile {
 public:
  virtual ~TorchFile() = default;
  virtual const TorchValue& root() const = 0;
};

// As open_torch_zip, for values that are not a state dict: at most 64 levels deep and 250,000
// values.
std::unique_ptr<TorchFile> open_torch_value(const std::filesystem::path& path);

}  // namespace cantilever
