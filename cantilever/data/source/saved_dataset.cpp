#include "cantilever/data/source/saved_dataset.h"

#include "cantilever/base/error.h"
#include "cantilever/base/file.h"
#include "cantilever/base/log.h"
#include "cantilever/data/source/arrow_columns.h"
#include "cantilever/io/json.h"

namespace cantilever {
namespace {

namespace fs = std::filesystem;

constexpr const char* kState = "state.json";
constexpr const char* kDict = "dataset_dict.json";
constexpr const char* kInfo = "dataset_info.json";

bool is_file(const fs::path& path) {
  std::error_code ignored;
  return fs::is_regular_file(path, ignored);
}

// A member of the JSON file `path` that has to be a list.
const Json& list_of(const Json& object, const char* key, const fs::path& path) {
  const auto found = object.is_object() ? object.find(key) : object.end();
  CANTILEVER_CHECK(object.is_object() && found != object.end() && found->is_array(), path.string(),
                   ": there is no list ", quoted(key), ", which `datasets` writes there");
  return *found;
}

// A name inside `folder`, not a path that leads elsewhere.
fs::path inside(const fs::path& folder, const Json& name, const fs::path& json) {
  CANTILEVER_CHECK(name.is_string(), json.string(), ": ", quoted(name.dump()), " is no file name");
  const fs::path path = name.get<std::string>();
  CANTILEVER_CHECK(!path.empty() && !path.has_parent_path() && path != ".." && path != ".",
                   json.string(), ": ", quoted(path.string()), " is not a name in ",
                   folder.string());
  return folder / path;
}

SavedSplit read_split(const fs::path& folder) {
  const fs::path path = folder / kState;
  CANTILEVER_CHECK(is_file(path), path.string(),
                   " is missing; the folder is not as save_to_disk writes it");
  const Json state = read_json(path);
  SavedSplit split;
  for (const Json& entry : list_of(state, "_data_files", path)) {
    CANTILEVER_CHECK(entry.is_object() && entry.contains("filename"), path.string(),
                     ": an entry of '_data_files' has no 'filename'");
    split.files.push_back(inside(folder, entry.at("filename"), path));
    CANTILEVER_CHECK(is_file(split.files.back()), path.string(), ": the data file ",
                     split.files.back().string(), " is not there");
  }
  CANTILEVER_CHECK(!split.files.empty(), path.string(), ": '_data_files' is empty");
  const auto indices = state.find("_indices_data_files");
  CANTILEVER_CHECK(indices == state.end() || indices->is_null() || indices->empty(), path.string(),
                   ": the set was saved with a list of chosen rows beside its data "
                   "('_indices_data_files', an old version of `datasets`), which is not read; load "
                   "it, call flatten_indices() and save it again");
  const auto name = state.find("_split");
  if (name != state.end() && name->is_string()) split.name = name->get<std::string>();
  return split;
}

}  // namespace

bool is_saved_dataset(const fs::path& folder) {
  return is_file(folder / kDict) || is_file(folder / kState);
}

std::vector<SavedSplit> find_saved_splits(const fs::path& folder) {
  std::vector<SavedSplit> splits;
  const fs::path dict = folder / kDict;
  if (!is_file(dict)) {
    splits.push_back(read_split(folder));
    // "train[:10%]" and the like are parts of a split, "train+test" sums of some.
    std::string& name = splits.back().name;
    if (name != "validation" && name != "test") name = "train";
    return splits;
  }
  const Json content = read_json(dict);
  for (const Json& name : list_of(content, "splits", dict)) {
    const fs::path split = inside(folder, name, dict);
    splits.push_back(read_split(split));
    splits.back().name = split.filename().string();
  }
  CANTILEVER_CHECK(!splits.empty(), dict.string(), ": 'splits' is empty");
  return splits;
}

std::vector<std::string> find_saved_features(const fs::path& arrow_file) {
  const fs::path info = arrow_file.parent_path() / kInfo;
  if (!is_file(info)) return {};
  try {
    const std::string text = read_file(info);
    const Json json = parse_json(text, info.string());
    if (json.is_object() && (!json.contains("features") || json.at("features").is_null()))
      return {};
    return image_features_of(text, info.string());
  } catch (const std::exception& error) {
    log_warning(concat(info.string(), ": not as `datasets` writes it (", error.what(), ")"));
    return {};
  }
}

}  // namespace cantilever
