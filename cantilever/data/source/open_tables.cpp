#include "cantilever/data/source/open_tables.h"

#include <algorithm>

#include "cantilever/base/error.h"
#include "cantilever/base/log.h"
#include "cantilever/data/source/arrow_source.h"
#include "cantilever/data/source/caption_rows.h"
#include "cantilever/data/source/karpathy_source.h"
#include "cantilever/data/source/label_source.h"
#include "cantilever/data/source/parquet_source.h"
#include "cantilever/data/source/record_source.h"
#include "cantilever/data/source/shards.h"
#include "cantilever/data/source/tar_source.h"

namespace cantilever {
namespace {

namespace fs = std::filesystem;

// Opens tables one after the other; they share what shards of one set share.
class TableOpener {
 public:
  explicit TableOpener(const TableOptions& options) : options_(options) {}

  // One of the two is null: text formats come with their paths.
  struct Opened {
    std::shared_ptr<ExampleSource> source;
    std::shared_ptr<RecordSource> records;
  };

  Opened open(const fs::path& file) {
    const FileKind kind = file_kind(file);
    switch (kind) {
      case FileKind::kParquet:
        return {open_parquet(file, options_, parquet_cache_, number_++), nullptr};
      case FileKind::kArrow:
        return {open_arrow(file, options_, arrow_cache_, number_++), nullptr};
      case FileKind::kTar:
        return {open_tar(file, options_), nullptr};
      case FileKind::kJson: {
        std::shared_ptr<RecordSource> coco = open_coco(file, options_);
        if (coco) return {nullptr, coco};
        if (is_karpathy_file(file)) return {nullptr, open_karpathy(file, options_, "")};
        return {nullptr, open_json(file, options_)};
      }
      case FileKind::kCsv:
        return {nullptr, open_csv(file, options_, ',')};
      case FileKind::kTsv:
        return {nullptr, open_csv(file, options_, '\t')};
      case FileKind::kBars:
        return {nullptr, open_csv(file, options_, '|')};
      case FileKind::kFlickr:
        return {nullptr, open_flickr(file, options_)};
      default: {
        const std::string format = unread_format(file);
        throw_error(concat(file.string(), ": ",
                           format.empty() ? "the format is not known"
                                          : concat("this is ", format, ", which is not read yet"),
                           ". Read are ", read_formats()));
      }
    }
  }

 private:
  const TableOptions& options_;
  std::shared_ptr<ParquetCache> parquet_cache_ = make_parquet_cache();
  std::shared_ptr<ArrowCache> arrow_cache_ = make_arrow_cache();
  int64_t number_ = 0;
};

// The rows of metadata above the folders of the splits that belong to one split.
std::shared_ptr<ExampleSource> filter_rows(const TableOpener::Opened& opened,
                                           const SplitFiles& split) {
  CANTILEVER_CHECK(opened.records, split.tables.front().string(),
                   ": its rows cannot be told apart by split; put a metadata file into the folder "
                   "of each split, or write it as metadata.jsonl or metadata.csv");
  std::vector<int64_t> rows;
  std::string picture;
  for (int64_t row = 0; row < opened.records->size(); ++row) {
    try {
      opened.records->read_picture_path(row, picture);
    } catch (const Error&) {
      rows.push_back(row);  // says what is wrong when it is read
      continue;
    }
    if (split.row_filter(picture)) rows.push_back(row);
  }
  return select_rows(opened.records, std::move(rows));
}

// Two captions of one picture in a batch are negatives of each other: not without saying so.
void tell_repeated_pictures(const RecordSource& source) {
  const int64_t pictures = count_pictures(source);
  if (pictures == source.size() || pictures == 0) return;
  log_info(concat(source.description(), ": ", source.size(), " pairs of ", pictures,
                  " pictures, every caption a row; captions of one picture that meet in a batch "
                  "count as negatives of each other (--caption_choice random: one row a picture, "
                  "its caption drawn anew every epoch)"));
}

std::shared_ptr<ExampleSource> arrange(const TableOpener::Opened& opened, CaptionChoice choice) {
  if (!opened.records) return opened.source;
  if (!opened.records->has_caption_rows()) return opened.records;
  if (choice == CaptionChoice::kFirst || choice == CaptionChoice::kRandom) {
    return group_by_picture(opened.records);
  }
  tell_repeated_pictures(*opened.records);
  return opened.records;
}

bool has_several_captions(const ExampleSource& source) {
  constexpr int64_t kRows = 16;
  for (int64_t row = 0; row < std::min(kRows, source.size()); ++row) {
    try {
      if (source.caption_count(row) > 1) return true;
    } catch (const Error&) {
      // Says what is wrong when it is read.
    }
  }
  return false;
}

std::shared_ptr<ExampleSource> finish(std::vector<std::shared_ptr<ExampleSource>> shards,
                                      const std::string& where, CaptionChoice choice) {
  const bool many = shards.size() > 1;
  std::shared_ptr<ExampleSource> source =
      many ? join_shards(std::move(shards)) : std::move(shards.front());
  CANTILEVER_CHECK(source->size() > 0, where, many ? " and the others" : "",
                   ": there are no rows, no examples to work with");
  if (!has_several_captions(*source) && choice != CaptionChoice::kAll) return source;
  switch (choice) {
    case CaptionChoice::kAll:
      return expand_captions(std::move(source));
    case CaptionChoice::kRandom:
      log_info(concat(where, ": rows have several captions; one is drawn anew every epoch"));
      return source;
    default:
      log_info(concat(where,
                      ": rows have several captions; the first is taken (--caption_choice "
                      "random draws one, all makes a row of each)"));
      return source;
  }
}

}  // namespace

TableOptions table_options(const SourceOptions& options, const fs::path& set_folder,
                           bool image_folder) {
  TableOptions table;
  table.image_column = options.image_column;
  table.caption_column = options.caption_column;
  table.find_image_column = options.find_image_column;
  table.find_caption_column = options.find_caption_column;
  table.image_root = options.image_root;
  table.set_folder = set_folder;
  table.confine = !options.allow_outside_paths;
  table.image_folder = image_folder;
  return table;
}

std::shared_ptr<ExampleSource> open_tables(const std::vector<fs::path>& files,
                                           const TableOptions& options, CaptionChoice choice) {
  TableOpener opener(options);
  std::vector<std::shared_ptr<ExampleSource>> shards;
  for (const fs::path& file : files) shards.push_back(arrange(opener.open(file), choice));
  return finish(std::move(shards), files.front().string(), choice);
}

std::shared_ptr<ExampleSource> open_split(const SplitFiles& split, const TableOptions& options,
                                          CaptionChoice choice) {
  if (split.tables.empty()) return open_labels(split.folder, split.pictures, options);
  TableOptions table = options;
  table.image_folder = split.image_folder;
  if (!split.karpathy.empty()) {
    const auto records = open_karpathy(split.tables.front(), table, split.karpathy);
    return finish({arrange({nullptr, records}, choice)}, split.tables.front().string(), choice);
  }
  if (!split.row_filter) return open_tables(split.tables, table, choice);
  TableOpener opener(table);
  std::vector<std::shared_ptr<ExampleSource>> shards;
  for (const fs::path& file : split.tables) {
    shards.push_back(filter_rows(opener.open(file), split));
  }
  return finish(std::move(shards), concat(split.tables.front().string(), ", split ", split.name),
                choice);
}

}  // namespace cantilever
