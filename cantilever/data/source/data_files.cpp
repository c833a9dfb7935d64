#include "cantilever/data/source/data_files.h"

#include <algorithm>
#include <array>
#include <fstream>
#include <map>
#include <set>

#include "cantilever/base/error.h"
#include "cantilever/base/log.h"
#include "cantilever/data/source/dataset_card.h"
#include "cantilever/data/source/file_patterns.h"
#include "cantilever/data/source/karpathy_source.h"

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

// Whether one of the folders of a path below the set is called like a split.
bool in_split_folder(const std::string& file, const std::string& word) {
  for (size_t at = 0, slash = file.find('/'); slash != std::string::npos;
       at = slash + 1, slash = file.find('/', at)) {
    if (has_word(file.substr(at, slash - at), word, true)) return true;
  }
  return false;
}

std::string file_name(const std::string& file) {
  return file.substr(file.rfind('/') + 1);
}

bool named_like_split(const std::string& file, const std::string& word) {
  return has_word(file_name(file), word, false);
}

// "train" of data/train-00000-of-00002.parquet or data/train-00000-of-00002-0a1b2c3d.parquet.
std::string sharded_split(const std::string& file) {
  if (!file.starts_with("data/") || file.find('/', 5) != std::string::npos) return "";
  const std::string name = file.substr(5);
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

bool is_hidden(const std::string& name) {
  return name.starts_with(".") || name.starts_with("__");
}

using Files = std::vector<std::string>;  // paths below the folder of the set

// All files below the folder that matter, in name order.
Files list_files(const fs::path& folder) {
  constexpr std::array<std::string_view, 7> kIgnored = {
      "README.md",      "config.json",       "dataset_info.json", "dataset_infos.json",
      "dummy_data.zip", "dataset_dict.json", "state.json"};
  Files files;
  std::error_code error;
  fs::recursive_directory_iterator entry(folder, error);
  CANTILEVER_CHECK(!error, folder.string(), ": the folder cannot be listed: ", error.message());
  const size_t above = (folder / "").string().size();
  for (; entry != fs::recursive_directory_iterator(); entry.increment(error)) {
    CANTILEVER_CHECK(!error, folder.string(), ": the folder cannot be listed: ", error.message());
    const std::string& path = entry->path().native();
    const std::string name = file_name(path);
    std::error_code ignored;
    if (entry->is_directory(ignored)) {
      if (is_hidden(name)) entry.disable_recursion_pending();
    } else if (!name.starts_with(".") && !one_of(name, kIgnored)) {
      files.push_back(path.substr(above));
    }
  }
  std::sort(files.begin(), files.end());
  return files;
}

struct Grouped {
  std::vector<std::pair<std::string, Files>> splits;
  std::string rule;
};

// Files for which `belongs(file, word)` holds, by split; one that fits two splits counts for both,
// as in `datasets`.
template <class Belongs>
Grouped group_by_words(const Files& files, const Belongs& belongs, const char* rule) {
  Grouped groups{{}, rule};
  for (const SplitWords& split : split_words()) {
    Files members;
    for (const std::string& file : files) {
      if (std::any_of(split.words.begin(), split.words.end(),
                      [&](const std::string& word) { return belongs(file, word); })) {
        members.push_back(file);
      }
    }
    if (!members.empty()) groups.splits.emplace_back(split.name, std::move(members));
  }
  return groups;
}

Grouped group_by_split(const Files& files) {
  std::map<std::string, Files> sharded;
  for (const std::string& file : files) {
    const std::string split = sharded_split(file);
    if (!split.empty()) sharded[split].push_back(file);
  }
  if (!sharded.empty()) return {{sharded.begin(), sharded.end()}, "shards data/SPLIT-nnnnn"};
  Grouped groups = group_by_words(files, in_split_folder, "by the names of folders");
  if (!groups.splits.empty()) return groups;
  groups = group_by_words(files, named_like_split, "by the names of files");
  if (!groups.splits.empty()) return groups;
  return {{{"train", files}}, "none named, all is train"};
}

// COCO keeps captions_train2017.json and captions_val2017.json in annotations/, beside tables of
// boxes and folders of pictures called like splits: its captions go by their own names.
Files coco_files(const fs::path& folder, const Files& files) {
  Files coco;
  for (const std::string& file : files) {
    if (!file_name(file).starts_with("captions_") || !file.ends_with(".json")) continue;
    std::string head(4096, '\0');
    std::ifstream stream(folder / file);
    stream.read(head.data(), static_cast<std::streamsize>(head.size()));
    const bool object = head[std::min(head.find_first_not_of(" \t\r\n"), head.size() - 1)] == '{';
    const bool named = head.find("\"images\"") != std::string::npos ||
                       head.find("\"annotations\"") != std::string::npos ||
                       head.find("\"info\"") != std::string::npos ||
                       head.find("\"licenses\"") != std::string::npos;
    if (object && named) coco.push_back(file);
  }
  return coco;
}

// Karpathy's dataset_coco.json in the folder, which tells the splits itself; they often come three
// together.
std::optional<fs::path> karpathy_file(const fs::path& folder, const Files& files) {
  Files found;
  for (const std::string& file : files) {
    if (file_name(file).starts_with("dataset_") && file.ends_with(".json") &&
        is_karpathy_file(folder / file)) {
      found.push_back(file);
    }
  }
  if (found.empty()) return std::nullopt;
  CANTILEVER_CHECK(found.size() == 1, folder.string(), ": there are several sets of Karpathy's (",
                   found[0], ", ", found[1], found.size() > 2 ? ", ..." : "",
                   "); pass the file that is meant as --dataset_name");
  return folder / found.front();
}

bool is_table(FileKind kind) {
  return kind != FileKind::kPicture && kind != FileKind::kUnread && kind != FileKind::kOther;
}

// Of the files of a split, those to read: metadata files beside pictures, else the tables of the
// most telling format, else the pictures alone.
SplitFiles choose_tables(const fs::path& folder, const std::string& name, const Files& files) {
  std::map<FileKind, std::vector<fs::path>> tables;
  std::vector<fs::path> metadata;
  SplitFiles split;
  split.name = name;
  split.folder = folder;
  // Many .txt are captions beside their pictures, not tables (and opening each would take long).
  constexpr int64_t kMostTexts = 16;
  const auto is_text = [](const std::string& file) { return file.ends_with(".txt"); };
  const bool texts = std::count_if(files.begin(), files.end(), is_text) <= kMostTexts;
  for (const std::string& file : files) {
    FileKind kind = file_kind_by_name(file);
    if (kind == FileKind::kCsv || (kind == FileKind::kOther && texts && is_text(file))) {
      kind = file_kind(folder / file);
    }
    if (kind == FileKind::kPicture) split.pictures.push_back(file);
    if (!is_table(kind)) continue;
    (is_metadata_file(file) ? metadata : tables[kind]).push_back(folder / file);
  }
  if (!metadata.empty() && (!split.pictures.empty() || tables.empty())) {
    split.tables = metadata;
    split.image_folder = true;
    split.pictures.clear();
    return split;
  }
  size_t most = 0;  // the format with the most files, in a draw the first of these
  for (const FileKind kind : {FileKind::kParquet, FileKind::kArrow, FileKind::kJson, FileKind::kCsv,
                              FileKind::kTsv, FileKind::kTar, FileKind::kFlickr, FileKind::kBars}) {
    if (tables[kind].size() > most) {
      most = tables[kind].size();
      split.tables = tables[kind];
    }
  }
  for (const auto& [kind, others] : tables) {
    if (!others.empty() && others != split.tables) {
      log_info(concat(folder.string(), ": of split ", name, " the files of ",
                      kind_name(file_kind(split.tables.front())), " are read, not the ",
                      others.size(), " of ", kind_name(kind), " (", others.front().string(),
                      others.size() > 1 ? ", ..." : "", ")"));
    }
  }
  if (!split.tables.empty()) split.pictures.clear();
  return split;
}

// Splits of pictures whose metadata file stands above the folders of the splits: its rows are told
// apart by the path of the picture.
void share_metadata_above(const fs::path& folder, const Files& files,
                          std::vector<SplitFiles>& splits) {
  std::vector<fs::path> above;
  for (const std::string& file : files) {
    const bool in_split =
        std::any_of(split_words().begin(), split_words().end(), [&](const SplitWords& split) {
          return std::any_of(split.words.begin(), split.words.end(),
                             [&](const std::string& word) { return in_split_folder(file, word); });
        });
    if (is_metadata_file(file) && !in_split) above.push_back(folder / file);
  }
  if (above.empty()) return;
  for (SplitFiles& split : splits) {
    if (!split.tables.empty()) continue;
    const auto words =
        std::find_if(split_words().begin(), split_words().end(),
                     [&](const SplitWords& known) { return known.name == split.name; });
    if (words == split_words().end()) continue;
    split.tables = above;
    split.image_folder = true;
    split.pictures.clear();
    split.row_filter = [words](const std::string& picture) {
      return std::any_of(words->words.begin(), words->words.end(),
                         [&](const std::string& word) { return in_split_folder(picture, word); });
    };
  }
}

// Says what is there instead of a table.
[[noreturn]] void refuse(const fs::path& folder, const Files& files) {
  std::string unread;
  for (const std::string& file : files) {
    if (file_kind_by_name(file) == FileKind::kUnread && unread.empty()) {
      unread = concat("; ", file, " is ", unread_format(file), ", which is not read yet");
    }
  }
  throw_error(concat(folder.string(), ": there is nothing to read among ", files.size(), " files",
                     unread, ". Read are ", read_formats()));
}

// The configuration of README.md that is meant; nullopt when there is none.
std::optional<CardConfig> choose_config(const fs::path& folder, const std::string& wanted) {
  const std::vector<CardConfig> configs = read_card_configs(folder / "README.md");
  if (configs.empty()) return std::nullopt;
  std::string names;
  for (const CardConfig& config : configs) {
    names += concat(names.empty() ? "" : ", ", config.name);
    if (config.name == wanted) return config;
  }
  if (!wanted.empty() && wanted != "default") return std::nullopt;
  for (const CardConfig& config : configs) {
    if (config.is_default || config.name == "default" || configs.size() == 1) return config;
  }
  throw_error(concat((folder / "README.md").string(), ": the set has the configurations ", names,
                     " and none is the default; pass one with --dataset_config_name"));
}

bool stays_below(const fs::path& path) {
  return path.is_relative() && std::find(path.begin(), path.end(), "..") == path.end();
}

// The files that the patterns of a configuration mean.
Grouped group_by_config(const fs::path& folder, const Files& files, const CardConfig& config) {
  const std::string readme = (folder / "README.md").string();
  if (!config.unknown_keys.empty()) {
    std::string keys;
    for (const std::string& key : config.unknown_keys) {
      keys += concat(keys.empty() ? "" : ", ", quoted(key));
    }
    log_warning(concat(readme, ": of configuration ", quoted(config.name),
                       " the following is not understood and has no effect: ", keys));
  }
  Grouped groups{{}, concat("by README.md, configuration ", quoted(config.name))};
  for (const auto& [split, patterns] : config.data_files) {
    Files members;
    std::set<std::string> seen;
    for (const std::string& pattern : patterns) {
      const std::string full =
          config.data_dir.empty() ? pattern : concat(config.data_dir, "/", pattern);
      bool fits_any = false;
      for (const std::string& file : files) {
        if (!fits_pattern(file, full)) continue;
        fits_any = true;
        if (seen.insert(file).second) members.push_back(file);
      }
      CANTILEVER_CHECK(fits_any, readme, ": of configuration ", quoted(config.name),
                       " the pattern ", quoted(full), " of split ", quoted(split),
                       " fits no file below ", folder.string());
    }
    groups.splits.emplace_back(split, std::move(members));
  }
  return groups;
}

FoundFiles choose_files(const fs::path& folder, const Files& files, const Grouped& groups) {
  FoundFiles found;
  found.rule = groups.rule;
  bool pictures = false;
  for (const auto& [name, members] : groups.splits) {
    SplitFiles split = choose_tables(folder, name, members);
    pictures = pictures || !split.pictures.empty();
    if (!split.tables.empty() || !split.pictures.empty()) found.splits.push_back(std::move(split));
  }
  share_metadata_above(folder, files, found.splits);
  // Pictures without a table count only where no split has one.
  const auto has_tables = [](const SplitFiles& split) { return !split.tables.empty(); };
  if (std::any_of(found.splits.begin(), found.splits.end(), has_tables)) {
    std::erase_if(found.splits, [&](const SplitFiles& split) { return !has_tables(split); });
  }
  if (found.splits.empty()) refuse(folder, files);
  return found;
}

}  // namespace

bool has_card_config(const fs::path& folder, const std::string& config) {
  const std::vector<CardConfig> configs = read_card_configs(folder / "README.md");
  return std::any_of(configs.begin(), configs.end(),
                     [&](const CardConfig& known) { return known.name == config; });
}

FoundFiles find_karpathy_splits(const fs::path& file) {
  FoundFiles found;
  found.rule = "as Karpathy's file names them, restval is train";
  for (const std::string& name : karpathy_splits(file)) {
    SplitFiles split;
    split.name = name;
    split.tables = {file};
    split.karpathy = name;
    found.splits.push_back(std::move(split));
  }
  CANTILEVER_CHECK(!found.splits.empty(), file.string(), ": there are no rows");
  return found;
}

FoundFiles find_data_files(const fs::path& folder, bool one_split, const std::string& config) {
  const Files files = list_files(folder);
  if (!one_split) {
    const std::optional<CardConfig> card = choose_config(folder, config);
    if (card && !card->data_files.empty()) {
      return choose_files(folder, files, group_by_config(folder, files, *card));
    }
    if (card && !card->data_dir.empty() && card->data_dir != ".") {
      const fs::path below = folder / card->data_dir;
      CANTILEVER_CHECK(stays_below(card->data_dir), (folder / "README.md").string(),
                       ": the folder ", quoted(card->data_dir), " of configuration ",
                       quoted(card->name), " lies outside the set; pass it as --dataset_name");
      std::error_code ignored;
      CANTILEVER_CHECK(fs::is_directory(below, ignored), (folder / "README.md").string(),
                       ": the folder ", quoted(card->data_dir), " of configuration ",
                       quoted(card->name), " is not there");
      const Files inner = list_files(below);
      return choose_files(below, inner, group_by_split(inner));
    }
  }
  const Files coco = coco_files(folder, files);
  if (!coco.empty()) {
    Grouped groups = group_by_words(coco, named_like_split, "by the names of COCO's files");
    if (one_split || groups.splits.empty()) groups = {{{"train", coco}}, "all of COCO's captions"};
    return choose_files(folder, coco, groups);
  }
  if (const std::optional<fs::path> karpathy = karpathy_file(folder, files)) {
    if (!one_split) return find_karpathy_splits(*karpathy);
    SplitFiles all;
    all.name = "train";
    all.tables = {*karpathy};
    return {{all}, "all of Karpathy's splits"};
  }
  const Grouped groups = one_split ? Grouped{{{"train", files}}, "one"} : group_by_split(files);
  return choose_files(folder, files, groups);
}

}  // namespace cantilever
