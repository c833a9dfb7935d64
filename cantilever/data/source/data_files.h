#pragma once

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

namespace cantilever {

enum class FileKind { kParquet, kJson, kCsv, kTsv, kArrow, kPicture, kUnread, kOther };

// By extension; a .txt whose first line has a comma or tab counts as a table.
FileKind file_kind(const std::filesystem::path& path);
// What a file of kind kUnread is, for the message that it is not read yet.
std::string unread_format(const std::filesystem::path& path);
// The formats that are read, for messages.
const char* read_formats();

// metadata.csv, metadata.jsonl, metadata.parquet: the table of an image folder.
bool is_metadata_file(const std::filesystem::path& path);

// The files of one split in the order of their rows.
struct SplitFiles {
  std::string name;
  std::vector<std::filesystem::path> tables;
  bool image_folder = false;  // the tables are metadata files of an image folder
};

// Which files of a folder are which split, by the rules of the `datasets` library
// (data/SPLIT-nnnnn-of- nnnnn, else a folder called like a split, else a file name with its name in
// it, else all is train). With one_split all files are one split, called "train". Throws Error when
// there is nothing to read, naming what was found instead.
std::vector<SplitFiles> find_data_files(const std::filesystem::path& folder, bool one_split);

}  // namespace cantilever
