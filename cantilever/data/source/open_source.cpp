#include "cantilever/data/source/open_source.h"

#include <algorithm>
#include <cmath>

#include "cantilever/base/error.h"
#include "cantilever/base/log.h"
#include "cantilever/data/order/sample_order.h"
#include "cantilever/data/source/data_files.h"
#include "cantilever/data/source/file_patterns.h"
#include "cantilever/data/source/karpathy_source.h"
#include "cantilever/data/source/open_tables.h"
#include "cantilever/data/source/saved_dataset.h"

namespace cantilever {

CaptionChoice parse_caption_choice(const std::string& name) {
  if (name == "auto") return CaptionChoice::kAuto;
  if (name == "first") return CaptionChoice::kFirst;
  if (name == "random") return CaptionChoice::kRandom;
  if (name == "all") return CaptionChoice::kAll;
  throw_error(concat("caption choice ", quoted(name),
                     " is unknown; auto, first, random and all are known"));
}

namespace {

namespace fs = std::filesystem;
using Splits = std::map<std::string, std::shared_ptr<ExampleSource>>;

fs::path check_exists(const std::string& path, const std::string& flag) {
  std::error_code ignored;
  CANTILEVER_CHECK(fs::exists(path, ignored), flag, ": ", path, " does not exist");
  return path;
}

// The folder of a set: dataset_name, data_dir and the configuration's folder below it.
fs::path set_folder(const SourceOptions& options) {
  fs::path folder = options.dataset_name;
  if (!options.data_dir.empty()) folder /= options.data_dir;
  check_exists(folder.string(), "--data_dir");
  const std::string& config = options.dataset_config_name;
  if (config.empty() || config == "default") return folder;
  if (options.data_dir.empty() && has_card_config(folder, config)) return folder;
  std::error_code ignored;
  CANTILEVER_CHECK(fs::is_directory(folder / config, ignored), "--dataset_config_name ", config,
                   ": ", folder.string(),
                   " has no folder of that name, and its README.md no such "
                   "configuration");
  return folder / config;
}

// The splits of the folder of a set.
FoundFiles find_splits(const SourceOptions& options, const fs::path& folder) {
  FoundFiles found;
  if (is_saved_dataset(folder)) {
    found.rule = "as save_to_disk wrote them";
    for (const SavedSplit& split : find_saved_splits(folder)) {
      SplitFiles files;
      files.name = split.name;
      files.tables = split.files;
      found.splits.push_back(std::move(files));
    }
  } else {
    // The configurations of README.md are those of the folder that was named.
    const bool configured = options.data_dir.empty() && folder == options.dataset_name;
    found = find_data_files(folder, false, configured ? options.dataset_config_name : "");
  }
  return found;
}

Splits open_found(const fs::path& path, const FoundFiles& found, const SourceOptions& options,
                  const TableOptions& table) {
  std::string names;
  for (const SplitFiles& split : found.splits) {
    names += concat(names.empty() ? "" : ", ", split.name);
  }
  log_info(concat(path.string(), ": splits ", names, " (", found.rule, ")"));
  Splits splits;
  for (const SplitFiles& split : found.splits) {
    splits[split.name] = open_split(split, table, options.caption_choice);
  }
  return splits;
}

Splits open_folder(const SourceOptions& options) {
  const fs::path folder = set_folder(options);
  return open_found(folder, find_splits(options, folder), options,
                    table_options(options, options.dataset_name, false));
}

// One file or folder as one split, of a file of Karpathy's splits that of the name `karpathy`; the
// columns of its first table go to `seen` when it is given.
std::shared_ptr<ExampleSource> open_path(const fs::path& path, const SourceOptions& options,
                                         const std::shared_ptr<std::vector<ColumnInfo>>& seen,
                                         const std::string& karpathy = "") {
  const std::vector<fs::path> files = expand_files(path.string());
  std::error_code ignored;
  const bool folder = files.size() == 1 && fs::is_directory(files.front(), ignored);
  SplitFiles split;
  if (!folder) {
    split.tables = files;
    split.image_folder = is_metadata_file(files.front());
  } else if (is_saved_dataset(path)) {
    for (const SavedSplit& saved : find_saved_splits(path)) {
      split.tables.insert(split.tables.end(), saved.files.begin(), saved.files.end());
    }
  } else {
    split = find_data_files(path, /*one_split=*/true).splits.front();
  }
  if (!karpathy.empty() && split.tables.size() == 1 && is_karpathy_file(split.tables.front())) {
    split.karpathy = karpathy;
  }
  TableOptions table = table_options(options, folder ? path : fs::path(), split.image_folder);
  table.seen_columns = seen;
  if (seen && split.tables.size() > 1) split.tables.resize(1);
  return open_split(split, table, options.caption_choice);
}

struct FirstTable {
  SplitFiles split;
  TableOptions options;
};

FirstTable first_table(const SourceOptions& options) {
  FirstTable first;
  first.split = find_splits(options, set_folder(options)).splits.front();
  if (first.split.tables.size() > 1) first.split.tables.resize(1);
  first.split.row_filter = nullptr;
  first.options = table_options(options, options.dataset_name, first.split.image_folder);
  return first;
}

Splits open_set(const SourceOptions& options) {
  std::error_code ignored;
  if (fs::is_directory(options.dataset_name, ignored)) return open_folder(options);
  const bool pattern = has_wildcards(options.dataset_name) ||
                       options.dataset_name.find('{') != std::string::npos ||
                       options.dataset_name.find("::") != std::string::npos;
  CANTILEVER_CHECK(
      pattern || fs::exists(options.dataset_name, ignored), "--dataset_name ", options.dataset_name,
      ": there is no such file or folder. Names on the Hugging Face Hub are not fetched "
      "yet: download the set (hf download --repo-type dataset NAME --local-dir FOLDER) "
      "and pass its folder");
  if (is_karpathy_file(options.dataset_name)) {
    return open_found(options.dataset_name, find_karpathy_splits(options.dataset_name), options,
                      table_options(options, "", false));
  }
  return {{"train", open_source(options.dataset_name, options)}};
}

Splits open_named_files(const SourceOptions& options) {
  struct Named {
    const char* split;
    const char* flag;
    const std::string& path;
  };
  const Named named[] = {{"train", "--train_file", options.train_file},
                         {"validation", "--validation_file", options.validation_file},
                         {"test", "--test_file", options.test_file},
                         {"train", "--train_dir", options.train_dir},
                         {"validation", "--validation_dir", options.validation_dir}};
  Splits splits;
  for (const Named& entry : named) {
    if (entry.path.empty()) continue;
    CANTILEVER_CHECK(!splits.contains(entry.split), entry.flag, ": the ", entry.split,
                     " split is given twice, as a file and as a folder");
    try {
      splits[entry.split] = open_path(entry.path, options, nullptr, entry.split);
    } catch (const Error& error) {
      throw_error(concat(entry.flag, ": ", error.what()));
    }
  }
  return splits;
}

void check_image_root(const SourceOptions& options) {
  std::error_code ignored;
  CANTILEVER_CHECK(options.image_root.empty() || fs::is_directory(options.image_root, ignored),
                   "--image_root: ", options.image_root, " is no folder");
}

// The cut of the reference script: datasets' train_test_split(0.4, shuffled), then its test part
// halved in order (spec: numpy's permutation, the first ceil(0.4 n) held out).
void cut_train(Splits& splits, uint64_t seed) {
  const std::shared_ptr<ExampleSource> all = splits.at("train");
  const int64_t n = all->size();
  if (n < 3) {
    log_warning(
        concat("a set of ", n, " rows is too small to be cut 60/20/20; all of it is train"));
    return;
  }
  const std::vector<int64_t> order = numpy_permutation(n, seed);
  const int64_t held_out = static_cast<int64_t>(std::ceil(0.4 * static_cast<double>(n)));
  const int64_t test = held_out - held_out / 2;
  const auto part = [&](int64_t first, int64_t last) {
    return select_rows(all, {order.begin() + first, order.begin() + last});
  };
  splits["train"] = part(held_out, n);
  splits["validation"] = part(0, held_out - test);
  splits["test"] = part(held_out - test, held_out);
  log_info(concat("train is cut 60/20/20 after a shuffle with seed ", seed, ": ", n - held_out,
                  " rows to train, ", held_out - test, " to validate, ", test, " to test"));
}

}  // namespace

std::map<std::string, std::shared_ptr<ExampleSource>> open_splits(const SourceOptions& options) {
  const bool files_given =
      !(options.train_file.empty() && options.validation_file.empty() &&
        options.test_file.empty() && options.train_dir.empty() && options.validation_dir.empty());
  CANTILEVER_CHECK(!options.dataset_name.empty() || files_given,
                   "no data were given: pass --dataset_name (a folder or file), or at least one of "
                   "--train_file, --validation_file, --test_file, --train_dir, --validation_dir");
  CANTILEVER_CHECK(options.dataset_name.empty() || !files_given,
                   "--dataset_name and data files were both given; pass one of them");
  check_image_root(options);
  Splits splits = options.dataset_name.empty() ? open_named_files(options) : open_set(options);
  for (const auto& [name, source] : splits) log_info(concat(name, ": ", source->description()));
  const bool validation = splits.contains("validation");
  const bool test = splits.contains("test");
  if (splits.contains("train") && !test && (!validation || options.script_splits)) {
    cut_train(splits, options.seed);
  }
  return splits;
}

std::shared_ptr<ExampleSource> open_source(const std::filesystem::path& path,
                                           const SourceOptions& options) {
  check_image_root(options);
  return open_path(path, options, nullptr);
}

std::vector<ColumnInfo> describe_columns(const SourceOptions& options) {
  const auto seen = std::make_shared<std::vector<ColumnInfo>>();
  std::string path = options.dataset_name;
  for (const std::string* given :
       {&options.train_file, &options.train_dir, &options.validation_file, &options.validation_dir,
        &options.test_file}) {
    if (path.empty()) path = *given;
  }
  CANTILEVER_CHECK(!path.empty(), "no data were given: pass --dataset_name (a folder or file)");
  std::error_code ignored;
  try {
    if (!options.dataset_name.empty() && fs::is_directory(options.dataset_name, ignored)) {
      FirstTable first = first_table(options);
      first.options.seen_columns = seen;
      open_split(first.split, first.options, CaptionChoice::kFirst);
    } else {
      open_path(path, options, seen);
    }
  } catch (const Error&) {
    // Columns that do not fit are no matter here.
    if (seen->empty()) throw;
  }
  return *seen;
}

}  // namespace cantilever
