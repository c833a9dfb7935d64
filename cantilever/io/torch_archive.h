#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cantilever/base/file.h"
#include "cantilever/io/pickle.h"
#include "cantilever/io/tensor_view.h"
#include "cantilever/io/zip_archive.h"

namespace cantilever {

// A mapped file of torch.save with its pickle read, and tensors made of the pickle's nodes. Used by
// the .cpp files of this room only.
class TorchArchive {
 public:
  explicit TorchArchive(const std::filesystem::path& path);

  const PickleValues& values() const { return values_; }
  std::string where() const { return file_.path().string(); }

  // The tensor of a node of kind kTensor; contiguous data is a view of the file, other data a copy
  // that lives as long as this object.
  TensorView tensor(const PickleNode& node, const std::string& name);

 private:
  struct Layout {
    int64_t offset = 0;  // elements
    std::vector<int64_t> size;
    std::vector<int64_t> stride;
  };

  void open_archive();
  Layout read_layout(const PickleNode& node, const std::string& place) const;
  std::span<const std::byte> storage(const PickleNode& node, size_t element_bytes,
                                     const std::string& place) const;
  std::span<const std::byte> gather(const Layout& layout, std::span<const std::byte> storage,
                                    size_t element_bytes, uint64_t bytes, const std::string& place);

  MappedFile file_;
  std::optional<ZipArchive> archive_;
  std::string prefix_;  // the folder inside the archive, with its slash
  PickleValues values_;
  uint64_t copied_bytes_ = 0;
  std::vector<std::unique_ptr<std::byte[]>> copies_;
};

}  // namespace cantilever
