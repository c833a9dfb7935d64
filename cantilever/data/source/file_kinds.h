#pragma once

#include <filesystem>
#include <string>

namespace cantilever {

enum class FileKind {
  kParquet,
  kArrow,
  kJson,
  kCsv,
  kTsv,
  kBars,  // a .csv whose header has bars between the names instead of commas
  kTar,
  kFlickr,
  kPicture,
  kUnread,
  kOther
};

// By the name's end; of .csv and .txt the first line is looked at (a .txt with a comma or tab in it
// counts as a table).
FileKind file_kind(const std::filesystem::path& path);
// By the name alone, for lists of very many files: .csv and .txt are kCsv and kOther.
FileKind file_kind_by_name(const std::filesystem::path& path);
// "Parquet", "WebDataset tar", ...
const char* kind_name(FileKind kind);
// What a file of kind kUnread is, for the message that it is not read.
std::string unread_format(const std::filesystem::path& path);
// The formats that are read, for messages.
const char* read_formats();

// metadata.csv, metadata.jsonl, metadata.parquet: the table of an image folder.
bool is_metadata_file(const std::filesystem::path& path);

}  // namespace cantilever
