#include "cantilever/data/source/open_source.h"

#include <algorithm>
#include <cmath>

#include "cantilever/base/error.h"
#include "cantilever/base/log.h"
#include "cantilever/data/order/sample_order.h"
#include "cantilever/data/source/arrow_source.h"
#include "cantilever/data/source/data_files.h"
#include "cantilever/data/source/parquet_source.h"
#include "cantilever/data/source/record_source.h"
#include "cantilever/data/source/saved_dataset.h"
#include "cantilever/data/source/shards.h"

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

TableOptions table_options(const SourceOptions& options, const fs::path& set_folder,
                           bool image_folder) {
  TableOptions table;
  table.image_column = options.image_column;
  table.caption_column = options.caption_column;
  table.image_root = options.image_root;
  table.set_folder = set_folder;
  table.confine = !options.allow_outside_paths;
  table.image_folder = image_folder;
  return table;
}

std::shared_ptr<ExampleSource> open_tables(const std::vector<fs::path>& files,
                                           const TableOptions& options) {
  const std::shared_ptr<ParquetCache> cache = make_parquet_cache();
  const std::shared_ptr<ArrowCache> arrow_cache = make_arrow_cache();
  std::vector<std::shared_ptr<ExampleSource>> shards;
  for (const fs::path& file : files) {
    switch (file_kind(file)) {
      case FileKind::kParquet:
        shards.push_back(open_parquet(file, options, cache, static_cast<int64_t>(shards.size())));
        break;
      case FileKind::kArrow:
        shards.push_back(
            open_arrow(file, options, arrow_cache, static_cast<int64_t>(shards.size())));
        break;
      case FileKind::kJson:
        shards.push_back(open_json(file, options));
        break;
      case FileKind::kCsv:
        shards.push_back(open_csv(file, options, ','));
        break;
      case FileKind::kTsv:
        shards.push_back(open_csv(file, options, '\t'));
        break;
      default: {
        const std::string format = unread_format(file);
        throw_error(concat(file.string(), ": ",
                           format.empty() ? "the format is not known"
                                          : concat("this is ", format, ", which is not read yet"),
                           ". Read are ", read_formats()));
      }
    }
  }
  return shards.size() == 1 ? shards.front() : join_shards(std::move(shards));
}

std::shared_ptr<ExampleSource> open_tables_checked(const std::vector<fs::path>& files,
                                                   const TableOptions& options) {
  std::shared_ptr<ExampleSource> source = open_tables(files, options);
  CANTILEVER_CHECK(source->size() > 0, files.front().string(),
                   files.size() > 1 ? " and the others" : "",
                   ": there are no rows, no examples to work with");
  return source;
}

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
  std::error_code ignored;
  CANTILEVER_CHECK(fs::is_directory(folder / config, ignored), "--dataset_config_name ", config,
                   ": ", folder.string(), " has no folder of that name");
  return folder / config;
}

Splits open_set(const SourceOptions& options) {
  std::error_code ignored;
  CANTILEVER_CHECK(
      fs::exists(options.dataset_name, ignored), "--dataset_name ", options.dataset_name,
      ": there is no such file or folder. Names on the Hugging Face Hub are not fetched "
      "yet: download the set (hf download --repo-type dataset NAME --local-dir FOLDER) "
      "and pass its folder");
  if (fs::is_regular_file(options.dataset_name, ignored)) {
    return {{"train", open_source(options.dataset_name, options)}};
  }
  const fs::path folder = set_folder(options);
  Splits splits;
  if (is_saved_dataset(folder)) {
    for (const SavedSplit& split : find_saved_splits(folder)) {
      splits[split.name] =
          open_tables_checked(split.files, table_options(options, options.dataset_name, false));
    }
    return splits;
  }
  for (const SplitFiles& split : find_data_files(folder, false)) {
    splits[split.name] = open_tables_checked(
        split.tables, table_options(options, options.dataset_name, split.image_folder));
  }
  return splits;
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
    splits[entry.split] = open_source(check_exists(entry.path, entry.flag), options);
  }
  return splits;
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
  std::error_code ignored;
  CANTILEVER_CHECK(fs::exists(path, ignored), path.string(), ": there is no such file or folder");
  if (!fs::is_directory(path, ignored)) {
    return open_tables_checked({path}, table_options(options, "", is_metadata_file(path)));
  }
  if (is_saved_dataset(path)) {
    std::vector<fs::path> files;
    for (const SavedSplit& split : find_saved_splits(path)) {
      files.insert(files.end(), split.files.begin(), split.files.end());
    }
    return open_tables_checked(files, table_options(options, path, false));
  }
  const std::vector<SplitFiles> found = find_data_files(path, /*one_split=*/true);
  return open_tables_checked(found.front().tables,
                             table_options(options, path, found.front().image_folder));
}

}  // namespace cantilever
