#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cantilever/data/source/file_kinds.h"

namespace cantilever {

// The files of one split in the order of their rows.
struct SplitFiles {
  std::string name;
  std::vector<std::filesystem::path> tables;
  bool image_folder = false;  // the tables are metadata files of an image folder
  // The table is a file of Karpathy's splits, of which this one is meant: "train", "validation",
  // "test". Empty: the tables are whole.
  std::string karpathy;
  // The tables stand above the folders of the splits: only those rows count whose picture (its path
  // as stored) belongs to this split.
  std::function<bool(const std::string&)> row_filter;
  // Pictures without a table: paths below `folder`.
  std::filesystem::path folder;
  std::vector<std::string> pictures;
};

struct FoundFiles {
  std::vector<SplitFiles> splits;
  std::string rule;  // what made the splits, for the log: "by the names of folders"
};

// Which files of a folder are which split, by the rules of the `datasets` library (the `configs:`
// of README.md, data/SPLIT-nnnnn-of-nnnnn, else a folder called like a split, else a file name with
// its name in it, else all is train). COCO's captions_*.json go by their own names, of a
// dataset_*.json of Karpathy's the splits are those it names. `config`: a
// configuration of README.md; empty: its default one. With one_split all files are one split,
// called "train", and README.md is not asked. Throws Error when there is nothing to read, naming
// what was found instead.
FoundFiles find_data_files(const std::filesystem::path& folder, bool one_split,
                           const std::string& config = "");

// The splits of a file of Karpathy's (dataset_coco.json).
FoundFiles find_karpathy_splits(const std::filesystem::path& file);

// Whether README.md of the folder has a configuration of that name.
bool has_card_config(const std::filesystem::path& folder, const std::string& config);

}  // namespace cantilever
