#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "cantilever/base/error.h"
#include "cantilever/base/file.h"
#include "cantilever/io/safetensors.h"
#include "cantilever/io/text_bytes.h"

namespace cantilever {
namespace {

constexpr size_t kMaxHeaderBytes = 100'000'000;
constexpr size_t kAlignment = 8;

// The library sorts by type, descending in the order in which it declares them (probed by writing
// one tensor of each), so that larger elements come first and stay aligned.
constexpr std::array kWriteOrder = {
    DType::kU64, DType::kI64, DType::kF64, DType::kF32, DType::kU32, DType::kI32, DType::kBF16,
    DType::kF16, DType::kU16, DType::kI16, DType::kI8,  DType::kU8,  DType::kBool};

size_t write_rank(DType dtype) {
  return static_cast<size_t>(std::find(kWriteOrder.begin(), kWriteOrder.end(), dtype) -
                             kWriteOrder.begin());
}

void check_names(const std::filesystem::path& path, const std::vector<TensorView>& tensors) {
  std::vector<std::string_view> names;
  for (const TensorView& tensor : tensors) {
    CANTILEVER_ASSERT(
        tensor.data.size() == static_cast<size_t>(tensor.numel()) * byte_size(tensor.dtype),
        "tensor ", quoted(tensor.name), " of shape ", format_shape(tensor.shape), " has ",
        tensor.data.size(), " bytes");
    CANTILEVER_CHECK(tensor.name != "__metadata__", "cannot write ", path.string(),
                     ": a tensor cannot be called '__metadata__'");
    names.push_back(tensor.name);
  }
  std::sort(names.begin(), names.end());
  const auto twice = std::adjacent_find(names.begin(), names.end());
  CANTILEVER_CHECK(twice == names.end(), "cannot write ", path.string(),
                   ": two tensors are called ", quoted(std::string(*twice)));
}

std::string format_header(const std::vector<TensorView>& tensors,
                          const std::map<std::string, std::string>& metadata) {
  std::string header = "{";
  const auto append_key = [&header](std::string_view key) {
    if (header.back() != '{') header += ',';
    append_json_string(header, key, false);
    header += ':';
  };
  if (!metadata.empty()) {
    append_key("__metadata__");
    header += '{';
    for (const auto& [key, value] : metadata) {
      append_key(key);
      append_json_string(header, value, false);
    }
    header += '}';
  }
  size_t offset = 0;
  for (const TensorView& tensor : tensors) {
    append_key(tensor.name);
    header += concat("{\"dtype\":\"", dtype_name(tensor.dtype), "\",\"shape\":[");
    for (size_t i = 0; i < tensor.shape.size(); ++i) {
      header += (i > 0 ? "," : "") + std::to_string(tensor.shape[i]);
    }
    header += concat("],\"data_offsets\":[", offset, ",", offset + tensor.data.size(), "]}");
    offset += tensor.data.size();
  }
  header += '}';
  header.append((kAlignment - header.size() % kAlignment) % kAlignment, ' ');
  return header;
}

}  // namespace

void write_safetensors(const std::filesystem::path& path, std::vector<TensorView> tensors,
                       const std::map<std::string, std::string>& metadata) {
  check_names(path, tensors);
  std::sort(tensors.begin(), tensors.end(), [](const TensorView& a, const TensorView& b) {
    return std::pair(write_rank(a.dtype), std::string_view(a.name)) <
           std::pair(write_rank(b.dtype), std::string_view(b.name));
  });
  const std::string header = format_header(tensors, metadata);
  CANTILEVER_CHECK(header.size() <= kMaxHeaderBytes, "cannot write ", path.string(),
                   ": the header would have ", header.size(), " bytes, the format allows ",
                   kMaxHeaderBytes);
  AtomicFile file(path);
  const uint64_t length = header.size();
  file.write(std::as_bytes(std::span(&length, 1)));
  file.write(header);
  for (const TensorView& tensor : tensors) file.write(tensor.data);
  file.commit();
}

}  // namespace cantilever
