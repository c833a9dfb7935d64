#include "cantilever/data/source/data_files.h"

#include <algorithm>
#include <array>
#include <fstream>
#include <map>

#include "cantilever/base/error.h"

namespace cantilever {
namespace {

namespace fs = std::filesystem;

struct SplitWords {
  const char* name;
  std::vector<std::string> words;
};

const std::vector<SplitWords>& split_words() {
  static const std::vector<SplitWords> kWords = {
      {"train", {"train", "training"}},
      {"validation", {"validation", "valid", "dev", "val"}},
      {"test", {"test", "testing", "eval", "evaluation"}}};
  return kWords;
}

std::string lower_extension(const fs::path& path) {
  std::string extension = path.extension().string();
  std::transform(extension.begin(), extension.end(), extension.begin(), [](unsigned char byte) {
    return static_cast<char>(byte >= 'A' && byte <= 'Z' ? byte + 32 : byte);
  });
  return extension;
}

template <size_t N>
bool one_of(std::string_view value, const std::array<std::string_view, N>& values) {
  return std::find(values.begin(), values.end(), value) != values.end();
}

bool is_separator(char byte) {
  return std::string_view("-._ ").find(byte) != std::string_view::npos ||
         (byte >= '0' && byte <= '9');
}

// Whether `text` contains `word` between separators. At the end of `text` it counts only for
// folders.
bool has_word(const std::string& text, const std::string& word, bool folder) {
  for (size_t at = text.find(word); at != std::string::npos; at = text.find(word, at + 1)) {
    const size_t end = at + word.size();
    const bool starts = at == 0 || is_separator(text[at - 1]);
    const bool ends = end == text.size() ? folder : is_separator(text[end]);
    if (starts && ends) return true;
  }
  return false;
}

bool in_split_folder(const fs::path& relative, const std::string& word) {
  const fs::path parents = relative.parent_path();
  return std::any_of(parents.begin(), parents.end(),
                     [&](const fs::path& part) { return has_word(part.string(), word, true); });
}

// "train" of data/train-00000-of-00002.parquet or data/train-00000-of-00002-0a1b2c3d.parquet.
std::string sharded_split(const fs::path& relative) {
  if (relative.parent_path() != "data") return "";
  const std::string name = relative.filename().string();
  const auto digits = [&](size_t at) {
    return at + 5 <= name.size() &&
           std::all_of(name.begin() + static_cast<int64_t>(at),
                       name.begin() + static_cast<int64_t>(at) + 5,
                       [](char byte) { return byte >= '0' && byte <= '9'; });
  };
  const size_t dash = name.find('-');
  if (dash == std::string::npos || dash == 0 || !digits(dash + 1)) return "";
  if (name.compare(dash + 6, 4, "-of-") != 0 || !digits(dash + 10)) return "";
  return name.find('.', dash + 15) == std::string::npos ? "" : name.substr(0, dash);
}

bool is_hidden(const fs::path& name) {
  return name.string().starts_with(".") || name.string().starts_with("__");
}

// All files below the folder that matter, as paths relative to it, in name order.
std::vector<fs::path> list_files(const fs::path& folder) {
  constexpr std::array<std::string_view, 7> kIgnored = {
      "README.md",      "config.json",       "dataset_info.json", "dataset_infos.json",
      "dummy_data.zip", "dataset_dict.json", "state.json"};
  std::vector<fs::path> files;
  std::error_code error;
  fs::recursive_directory_iterator entry(folder, error);
  CANTILEVER_CHECK(!error, folder.string(), ": the folder cannot be listed: ", error.message());
  for (; entry != fs::recursive_directory_iterator(); entry.increment(error)) {
    CANTILEVER_CHECK(!error, folder.string(), ": the folder cannot be listed: ", error.message());
    const fs::path name = entry->path().filename();
    std::error_code ignored;
    if (entry->is_directory(ignored)) {
      if (is_hidden(name)) entry.disable_recursion_pending();
    } else if (!name.string().starts_with(".") && !one_of(name.string(), kIgnored)) {
      files.push_back(entry->path().lexically_relative(folder));
    }
  }
  std::sort(files.begin(), files.end(), [](const fs::path& a, const fs::path& b) {
    return a.generic_string() < b.generic_string();
  });
  return files;
}

using Grouped = std::vector<std::pair<std::string, std::vector<fs::path>>>;

// Files for which `belongs(file, word)` holds, by split; one that fits two splits counts for both,
// as in `datasets`.
template <class Belongs>
Grouped group_by_words(const std::vector<fs::path>& files, const Belongs& belongs) {
  Grouped groups;
  for (const SplitWords& split : split_words()) {
    std::vector<fs::path> members;
    for (const fs::path& file : files) {
      if (std::any_of(split.words.begin(), split.words.end(),
                      [&](const std::string& word) { return belongs(file, word); })) {
        members.push_back(file);
      }
    }
    if (!members.empty()) groups.emplace_back(split.name, std::move(members));
  }
  return groups;
}

Grouped group_by_split(const std::vector<fs::path>& files) {
  std::map<std::string, std::vector<fs::path>> sharded;
  for (const fs::path& file : files) {
    const std::string split = sharded_split(file);
    if (!split.empty()) sharded[split].push_back(file);
  }
  if (!sharded.empty()) return {sharded.begin(), sharded.end()};
  Grouped groups = group_by_words(files, in_split_folder);
  if (!groups.empty()) return groups;
  groups = group_by_words(files, [](const fs::path& file, const std::string& word) {
    return has_word(file.filename().string(), word, false);
  });
  if (!groups.empty()) return groups;
  return {{"train", files}};
}

// Of the files of a split, those to read: metadata files beside pictures, else the tables of the
// most telling format.
SplitFiles choose_tables(const fs::path& folder, const std::string& name,
                         const std::vector<fs::path>& files) {
  std::map<FileKind, std::vector<fs::path>> tables;
  std::vector<fs::path> metadata;
  size_t pictures = 0;
  for (const fs::path& file : files) {
    const FileKind kind = file_kind(folder / file);
    pictures += kind == FileKind::kPicture ? 1 : 0;
    if (kind == FileKind::kPicture || kind == FileKind::kUnread || kind == FileKind::kOther)
      continue;
    (is_metadata_file(file) ? metadata : tables[kind]).push_back(folder / file);
  }
  SplitFiles split;
  split.name = name;
  if (!metadata.empty() && (pictures > 0 || tables.empty())) {
    split.tables = metadata;
    split.image_folder = true;
    return split;
  }
  size_t most = 0;  // the format with the most files, in a draw the first of these
  for (const FileKind kind :
       {FileKind::kParquet, FileKind::kArrow, FileKind::kJson, FileKind::kCsv, FileKind::kTsv}) {
    if (tables[kind].size() > most) {
      most = tables[kind].size();
      split.tables = tables[kind];
    }
  }
  return split;
}

// Says what is there instead of a table.
[[noreturn]] void refuse(const fs::path& folder, const std::vector<fs::path>& files) {
  size_t pictures = 0;
  std::string unread;
  for (const fs::path& file : files) {
    const FileKind kind = file_kind(folder / file);
    pictures += kind == FileKind::kPicture ? 1 : 0;
    if (kind == FileKind::kUnread && unread.empty()) {
      unread = concat("; ", file.string(), " is ", unread_format(file), ", which is not read yet");
    }
  }
  if (pictures > 0 && unread.empty()) {
    unread =
        concat("; it has ", pictures,
               " pictures, but no metadata.csv, metadata.jsonl or metadata.parquet with a column "
               "file_name and the captions");
  }
  throw_error(concat(folder.string(), ": there is nothing to read among ", files.size(), " files",
                     unread, ". Read are ", read_formats()));
}

}  // namespace

FileKind file_kind(const fs::path& path) {
  constexpr std::array<std::string_view, 3> kParquet = {".parquet", ".geoparquet", ".gpq"};
  constexpr std::array<std::string_view, 3> kJson = {".jsonl", ".json", ".ndjson"};
  constexpr std::array<std::string_view, 9> kPictures = {".jpg", ".jpeg", ".png",  ".webp", ".gif",
                                                         ".bmp", ".tif",  ".tiff", ".jfif"};
  const std::string extension = lower_extension(path);
  if (one_of(extension, kParquet)) return FileKind::kParquet;
  if (one_of(extension, kJson)) return FileKind::kJson;
  if (extension == ".csv") return FileKind::kCsv;
  if (extension == ".tsv") return FileKind::kTsv;
  if (extension == ".arrow") return FileKind::kArrow;
  if (one_of(extension, kPictures)) return FileKind::kPicture;
  if (!unread_format(path).empty()) return FileKind::kUnread;
  if (extension == ".txt") {
    std::string line;
    std::ifstream file(path);
    line.resize(4096);
    file.read(line.data(), static_cast<std::streamsize>(line.size()));
    line.resize(static_cast<size_t>(file.gcount()));
    line.resize(std::min(line.find('\n'), line.size()));
    if (line.find('\t') != std::string::npos) return FileKind::kTsv;
    if (line.find(',') != std::string::npos) return FileKind::kCsv;
  }
  return FileKind::kOther;
}

std::string unread_format(const fs::path& path) {
  const std::string extension = lower_extension(path);
  const std::string name = path.filename().string();
  if (name.ends_with(".tar.gz") || name.ends_with(".tgz") || extension == ".tar") {
    return "a WebDataset tar";
  }
  if (extension == ".arrow" || extension == ".feather") return "an Arrow IPC file (save_to_disk)";
  if (extension == ".token") return "a Flickr8k .token file";
  if (extension == ".zip") return "a zip archive";
  if (extension == ".gz" || extension == ".zst" || extension == ".bz2" || extension == ".xz") {
    return "a compressed file";
  }
  if (extension == ".xlsx" || extension == ".ods") return "a spreadsheet";
  return "";
}

const char* read_formats() {
  return "Parquet (.parquet), JSON lines and JSON (.jsonl, .json), CSV and TSV (.csv, .tsv), and "
         "image folders with metadata.csv, metadata.jsonl or metadata.parquet";
}

bool is_metadata_file(const fs::path& path) {
  const std::string name = path.filename().string();
  return name == "metadata.csv" || name == "metadata.jsonl" || name == "metadata.parquet";
}

std::vector<SplitFiles> find_data_files(const fs::path& folder, bool one_split) {
  const std::vector<fs::path> files = list_files(folder);
  const Grouped groups = one_split ? Grouped{{"train", files}} : group_by_split(files);
  std::vector<SplitFiles> splits;
  for (const auto& [name, members] : groups) {
    SplitFiles split = choose_tables(folder, name, members);
    if (!split.tables.empty()) splits.push_back(std::move(split));
  }
  if (splits.empty()) refuse(folder, files);
  return splits;
}

}  // namespace cantilever
