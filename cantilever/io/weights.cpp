#include "cantilever/io/weights.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "cantilever/base/error.h"
#include "cantilever/io/json.h"
#include "cantilever/io/safetensors.h"
#include "cantilever/io/torch_zip.h"

namespace cantilever {
namespace {

namespace fs = std::filesystem;

constexpr const char* kFolderFiles[] = {"model.safetensors", "model.safetensors.index.json",
                                        "pytorch_model.bin", "pytorch_model.bin.index.json"};

std::unique_ptr<WeightFile> open_one_file(const fs::path& path) {
  const std::string extension = path.extension().string();
  if (extension == ".bin" || extension == ".pt" || extension == ".pth" || extension == ".ckpt") {
    return open_torch_zip(path);
  }
  CANTILEVER_CHECK(extension == ".safetensors", path.string(), ": a weight file ends in ",
                   ".safetensors, .bin, .pt, .pth or .ckpt (or .index.json for shards), not in ",
                   quoted(extension));
  return open_safetensors(path);
}

class ShardedFile : public WeightFile {
 public:
  explicit ShardedFile(const fs::path& index);

  const std::vector<TensorView>& tensors() const override { return tensors_; }
  const std::map<std::string, std::string>& metadata() const override { return metadata_; }
  std::string description() const override {
    return concat(index_.string(), " (", shards_.size(), " shards)");
  }

 private:
  void read_index();
  void check_shard_name(const std::string& name, const std::string& shard) const;
  void open_shards();
  void collect();

  fs::path index_;
  std::map<std::string, std::string> shard_of_;  // tensor name -> shard file name
  std::map<std::string, std::unique_ptr<WeightFile>> shards_;
  std::vector<TensorView> tensors_;
  std::map<std::string, std::string> metadata_;
};

ShardedFile::ShardedFile(const fs::path& index) : index_(index) {
  read_index();
  open_shards();
  collect();
}

void ShardedFile::check_shard_name(const std::string& name, const std::string& shard) const {
  const fs::path path(shard);
  const bool inside = !shard.empty() && path.is_relative() &&
                      std::find(path.begin(), path.end(), fs::path("..")) == path.end() &&
                      std::none_of(shard.begin(), shard.end(),
                                   [](char c) { return static_cast<unsigned char>(c) < 0x20; });
  CANTILEVER_CHECK(inside, index_.string(), ": weight_map: tensor ", quoted(name),
                   " is said to be in ", quoted(shard),
                   ", which is not a file below the folder of the index; refused");
  CANTILEVER_CHECK(!shard.ends_with(".json"), index_.string(), ": weight_map: the shard ",
                   quoted(shard), " of tensor ", quoted(name), " is not a weight file");
}

void ShardedFile::read_index() {
  const Json index = read_json(index_);
  CANTILEVER_CHECK(index.is_object(), index_.string(), ": not an index of shards: the file holds ",
                   index.type_name(), ", not an object");
  const auto map = index.find("weight_map");
  CANTILEVER_CHECK(map != index.end() && map->is_object() && !map->empty(), index_.string(),
                   ": not an index of shards: it has no object 'weight_map' with tensor names");
  for (const auto& [name, shard] : map->items()) {
    CANTILEVER_CHECK(shard.is_string(), index_.string(), ": weight_map: the shard of tensor ",
                     quoted(name), " is ", quoted(dump_json(shard, -1)), ", not a file name");
    check_shard_name(name, shard.get<std::string>());
    shard_of_[name] = shard.get<std::string>();
  }
}

void ShardedFile::open_shards() {
  const fs::path folder = index_.parent_path();
  std::set<std::string> names;
  for (const auto& [tensor, shard] : shard_of_) names.insert(shard);
  std::string missing;
  size_t count = 0;
  for (const std::string& name : names) {
    if (fs::exists(folder / name)) continue;
    ++count;
    if (count <= 5) missing += (count > 1 ? ", " : "") + quoted(name);
  }
  CANTILEVER_CHECK(count == 0, index_.string(), ": ", count, " of ", names.size(),
                   " shards are missing beside it: ", missing, count > 5 ? " ..." : "",
                   "; download them too");
  for (const std::string& name : names) shards_[name] = open_one_file(folder / name);
}

void ShardedFile::collect() {
  std::map<std::string, TensorView> merged;
  for (const auto& [shard, file] : shards_) {
    metadata_.insert(file->metadata().begin(), file->metadata().end());
    for (const TensorView& tensor : file->tensors()) {
      const auto promised = shard_of_.find(tensor.name);
      if (promised == shard_of_.end()) {
        merged.try_emplace(tensor.name, tensor);
      } else if (promised->second == shard) {
        merged[tensor.name] = tensor;
      }
    }
  }
  for (const auto& [name, shard] : shard_of_) {
    CANTILEVER_CHECK(merged.contains(name), index_.string(), ": weight_map says that tensor ",
                     quoted(name), " is in ", quoted(shard), ", but that file does not hold it");
  }
  for (auto& [name, tensor] : merged) tensors_.push_back(std::move(tensor));
}

}  // namespace

std::unique_ptr<WeightFile> open_weights(const fs::path& file_or_folder) {
  std::error_code error;
  const fs::file_status status = fs::status(file_or_folder, error);
  CANTILEVER_CHECK(fs::exists(status), "no weights at ", file_or_folder.string(),
                   ": there is no such file or folder",
                   error && error != std::errc::no_such_file_or_directory
                       ? concat(" (", error.message(), ")")
                       : std::string());
  fs::path file = file_or_folder;
  if (fs::is_directory(status)) {
    const auto* found = std::find_if(std::begin(kFolderFiles), std::end(kFolderFiles),
                                     [&](const char* name) { return fs::exists(file / name); });
    CANTILEVER_CHECK(found != std::end(kFolderFiles), "no weights in the folder ", file.string(),
                     ": looked for model.safetensors, model.safetensors.index.json, ",
                     "pytorch_model.bin and pytorch_model.bin.index.json");
    file /= *found;
  }
  if (file.extension() == ".json") return std::make_unique<ShardedFile>(file);
  return open_one_file(file);
}

}  // namespace cantilever
