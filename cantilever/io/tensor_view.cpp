#include "cantilever/io/tensor_view.h"

#include <array>
#include <bit>
#include <cstring>

#include "cantilever/base/error.h"

namespace cantilever {
namespace {

static_assert(std::endian::native == std::endian::little,
              "every file format here is little-endian and read in place");

struct DTypeInfo {
  DType dtype;
  const char* name;
  size_t bytes;
};

// In the order of the enum, so that a type is its own index.
constexpr size_t kShownDimensions = 16;  // a hostile file may have millions

constexpr std::array<DTypeInfo, 13> kDTypes = {{{DType::kBool, "BOOL", 1},
                                                {DType::kU8, "U8", 1},
                                                {DType::kI8, "I8", 1},
                                                {DType::kU16, "U16", 2},
                                                {DType::kI16, "I16", 2},
                                                {DType::kU32, "U32", 4},
                                                {DType::kI32, "I32", 4},
                                                {DType::kU64, "U64", 8},
                                                {DType::kI64, "I64", 8},
                                                {DType::kF16, "F16", 2},
                                                {DType::kBF16, "BF16", 2},
                                                {DType::kF32, "F32", 4},
                                                {DType::kF64, "F64", 8}}};

const DTypeInfo& info(DType dtype) {
  const auto index = static_cast<size_t>(dtype);
  CANTILEVER_ASSERT(index < kDTypes.size() && kDTypes[index].dtype == dtype);
  return kDTypes[index];
}

float widen_bfloat16(uint16_t value) {
  return std::bit_cast<float>(static_cast<uint32_t>(value) << 16);
}

// Subnormal halves go through an integer conversion, so that a process that flushes subnormal
// float32 numbers to zero reads the same values.
float widen_half(uint16_t value) {
  const uint32_t sign = static_cast<uint32_t>(value & 0x8000u) << 16;
  const uint32_t exponent = (value >> 10) & 0x1fu;
  const uint32_t fraction = value & 0x3ffu;
  uint32_t bits = ((exponent + 112) << 23) | (fraction << 13);
  if (exponent == 0) bits = std::bit_cast<uint32_t>(static_cast<float>(fraction) * 0x1p-24f);
  if (exponent == 31) bits = 0x7f800000u | (fraction << 13);
  return std::bit_cast<float>(bits | sign);
}

template <class Source, class Widen>
void widen_all(std::span<const std::byte> data, std::span<float> out, Widen widen) {
  for (size_t i = 0; i < out.size(); ++i) {
    Source value;
    std::memcpy(&value, data.data() + i * sizeof value, sizeof value);
    out[i] = widen(value);
  }
}

}  // namespace

size_t byte_size(DType dtype) {
  return info(dtype).bytes;
}

const char* dtype_name(DType dtype) {
  return info(dtype).name;
}

std::optional<DType> dtype_from_name(std::string_view name) {
  for (const DTypeInfo& candidate : kDTypes) {
    if (name == candidate.name) return candidate.dtype;
  }
  return std::nullopt;
}

int64_t TensorView::numel() const {
  int64_t count = 1;
  for (const int64_t size : shape) count *= size;
  return count;
}

std::string format_shape(const std::vector<int64_t>& shape) {
  std::string text = "[";
  for (size_t i = 0; i < shape.size(); ++i) {
    if (i > 0) text += ", ";
    if (i == kShownDimensions) return text + "...]";
    text += std::to_string(shape[i]);
  }
  return text + "]";
}

void copy_as_float32(const TensorView& tensor, std::span<float> out) {
  const size_t count = static_cast<size_t>(tensor.numel());
  CANTILEVER_ASSERT(out.size() == count && tensor.data.size() == count * byte_size(tensor.dtype),
                    "tensor ", quoted(tensor.name), " of shape ", format_shape(tensor.shape),
                    " has ", tensor.data.size(), " bytes and goes to ", out.size(), " values");
  switch (tensor.dtype) {
    case DType::kF32:
      if (count > 0) std::memcpy(out.data(), tensor.data.data(), tensor.data.size());
      return;
    case DType::kF16:
      return widen_all<uint16_t>(tensor.data, out, widen_half);
    case DType::kBF16:
      return widen_all<uint16_t>(tensor.data, out, widen_bfloat16);
    case DType::kF64:
      return widen_all<double>(tensor.data, out, [](double v) { return static_cast<float>(v); });
    default:
      throw_error(concat("tensor ", quoted(tensor.name), " has dtype ", dtype_name(tensor.dtype),
                         "; a floating type (F16, BF16, F32 or F64) is needed here"));
  }
}

const TensorView* WeightFile::find(std::string_view name) const {
  for (const TensorView& tensor : tensors()) {
    if (tensor.name == name) return &tensor;
  }
  return nullptr;
}

}  // namespace cantilever
