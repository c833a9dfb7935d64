#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace cantilever {

// What Dataset.save_to_disk and DatasetDict.save_to_disk of `datasets` write: Arrow files with a
// state.json beside them; for a dict a dataset_dict.json with one such folder for each split.

struct SavedSplit {
  std::string name;  // as saved; "train" for a set saved without a name
  std::vector<std::filesystem::path> files;
};

// Whether `folder` is such a set.
bool is_saved_dataset(const std::filesystem::path& folder);

// Its splits, files in the order of their rows. Throws Error that names the file: JSON that is not
// as `datasets` writes it, a data file that is missing or outside the folder, rows chosen by a list
// of indices (old versions of `datasets` saved them beside the rows).
std::vector<SavedSplit> find_saved_splits(const std::filesystem::path& folder);

// The columns that a dataset_info.json beside `arrow_file` calls Image. None when there is no such
// file; one that cannot be read is a warning.
std::vector<std::string> find_saved_features(const std::filesystem::path& arrow_file);

}  // namespace cantilever
