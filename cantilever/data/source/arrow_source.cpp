#include "cantilever/data/source/arrow_source.h"

#include <arrow/array.h>
#include <arrow/type.h>

#include <algorithm>

#include "cantilever/base/error.h"
#include "cantilever/base/file.h"
#include "cantilever/base/log.h"
#include "cantilever/data/source/arrow_cells.h"
#include "cantilever/data/source/arrow_columns.h"
#include "cantilever/data/source/block_cache.h"
#include "cantilever/data/source/ipc_index.h"
#include "cantilever/data/source/picture_files.h"
#include "cantilever/data/source/saved_dataset.h"
#include "cantilever/data/source/table_fingerprint.h"

namespace cantilever {
namespace {

// Of a batch that holds more memory than this a picture is copied out, so that examples in use do
// not keep many such batches.
constexpr int64_t kCopyFromBytes = int64_t{8} << 20;
// A batch that decompresses to more than this is worth a warning.
constexpr int64_t kLargeBatchBytes = int64_t{192} << 20;
constexpr int64_t kObjectBytes = 4096;  // of the arrays themselves, about

// One column of one record batch.
struct BatchColumn {
  std::shared_ptr<arrow::Array> array;
  std::shared_ptr<arrow::Array> picture, path;  // members of a picture struct, when there
  std::shared_ptr<arrow::Array> elements;       // of a list
  int64_t bytes = 0;                            // of memory, for the cache
};

class ArrowSource final : public ExampleSource {
 public:
  ArrowSource(const std::filesystem::path& path, const TableOptions& options,
              std::shared_ptr<ArrowCache> cache, int64_t file_number);

  int64_t size() const override {
    return index_.batch_ends().empty() ? 0 : index_.batch_ends().back();
  }
  void read(int64_t row, uint64_t draw, Example& example) const override;
  void read_caption(int64_t row, uint64_t draw, std::string& caption) const override;
  int64_t caption_count(int64_t row) const override;
  uint64_t fingerprint() const override { return table_fingerprint(file_, options_); }
  std::string description() const override;
  std::string place(int64_t row) const override { return concat(file_, ", row ", row); }

 private:
  struct RowPlace {
    int64_t batch = 0;
    int64_t row = 0;  // within the batch
  };

  RowPlace find(int64_t row) const;
  std::shared_ptr<const BatchColumn> column(int64_t batch, bool pictures) const;
  std::shared_ptr<const BatchColumn> load(int64_t batch, size_t column) const;
  void set_caption(RowPlace at, int64_t row, uint64_t draw, std::string& caption) const;
  void set_picture(RowPlace at, Example& example) const;
  void warn_of_large_batches() const;

  std::string file_;
  TableOptions options_;
  PictureFiles pictures_;
  std::shared_ptr<const MappedFile> mapped_;
  IpcIndex index_;
  std::shared_ptr<ArrowCache> cache_;
  int64_t file_number_;
  ArrowColumns columns_;
};

}  // namespace

class ArrowCache {
 public:
  BlockCache<BatchColumn> pictures{int64_t{64} << 20};
  BlockCache<BatchColumn> captions{int64_t{48} << 20};
};

std::shared_ptr<ArrowCache> make_arrow_cache() {
  return std::make_shared<ArrowCache>();
}

std::shared_ptr<ExampleSource> open_arrow(const std::filesystem::path& path,
                                          const TableOptions& options,
                                          std::shared_ptr<ArrowCache> cache, int64_t file_number) {
  return std::make_shared<ArrowSource>(path, options, std::move(cache), file_number);
}

namespace {

ArrowSource::ArrowSource(const std::filesystem::path& path, const TableOptions& options,
                         std::shared_ptr<ArrowCache> cache, int64_t file_number)
    : file_(path.string()),
      options_(options),
      pictures_(picture_root(path, options), options.confine),
      mapped_(std::make_shared<const MappedFile>(path)),
      index_(mapped_, file_),
      cache_(std::move(cache)),
      file_number_(file_number),
      columns_(choose_arrow_columns(file_, *index_.schema(), options_, find_saved_features(path))) {
  warn_of_large_batches();
}

void ArrowSource::warn_of_large_batches() const {
  for (int64_t batch = 0; batch < static_cast<int64_t>(index_.batch_ends().size()); ++batch) {
    const int64_t bytes = index_.decompressed_bytes(batch);
    if (bytes <= kLargeBatchBytes) continue;
    log_warning(concat(file_, ": record batch ", batch, " decompresses to ", bytes >> 20,
                       " MiB, which random access costs again and again; write the file with "
                       "smaller batches or without compression"));
    return;
  }
}

ArrowSource::RowPlace ArrowSource::find(int64_t row) const {
  CANTILEVER_CHECK(row >= 0 && row < size(), file_, ": there is no row ", row, ", only ", size());
  const auto& ends = index_.batch_ends();
  const auto end = std::upper_bound(ends.begin(), ends.end(), row);
  return {end - ends.begin(), row - (end == ends.begin() ? 0 : *(end - 1))};
}

std::shared_ptr<const BatchColumn> ArrowSource::load(int64_t batch, size_t column) const {
  auto loaded = std::make_shared<BatchColumn>();
  loaded->array = index_.read(batch, static_cast<int>(column));
  const arrow::DataType& type = *loaded->array->type();
  if (is_picture_struct(type)) {
    loaded->picture = struct_child(*loaded->array, "bytes");
    loaded->path = struct_child(*loaded->array, "path");
  } else if (holds_texts(type)) {
    loaded->elements = list_elements(*loaded->array);
  }
  const std::byte* begin = mapped_->bytes().data();
  loaded->bytes =
      kObjectBytes + array_bytes(*loaded->array, begin, begin + mapped_->bytes().size());
  return loaded;
}

std::shared_ptr<const BatchColumn> ArrowSource::column(int64_t batch, bool pictures) const {
  const size_t number = pictures ? columns_.choice.image : columns_.choice.caption;
  BlockCache<BatchColumn>& cache = pictures ? cache_->pictures : cache_->captions;
  // The other columns count too, which is too much, but little where pictures are.
  const auto expect = [&]() -> int64_t { return pictures ? index_.decompressed_bytes(batch) : 0; };
  return cache.get({file_number_, batch, static_cast<int64_t>(number)}, expect,
                   [&] { return load(batch, number); });
}

void ArrowSource::set_caption(RowPlace at, int64_t row, uint64_t draw, std::string& caption) const {
  const auto captions = column(at.batch, false);
  const auto where = [&] { return place(row); };
  std::optional<std::span<const std::byte>> text;
  if (captions->elements) {
    const auto [first, count] = cell_elements(*captions->array, at.row, where);
    CANTILEVER_CHECK(count > 0, place(row), ": ", quoted(options_.caption_column),
                     " is an empty or missing list, there is no caption");
    const auto drawn = static_cast<int64_t>(draw % static_cast<uint64_t>(count));
    text = cell_bytes(*captions->elements, first + drawn, where);
    CANTILEVER_CHECK(text.has_value(), place(row), ": ", quoted(options_.caption_column),
                     " has null as its caption ", drawn);
  } else {
    text = cell_bytes(*captions->array, at.row, where);
    CANTILEVER_CHECK(text.has_value(), place(row), ": ", quoted(options_.caption_column),
                     " is null, there is no caption");
  }
  caption.assign(reinterpret_cast<const char*>(text->data()), text->size());
}

void ArrowSource::set_picture(RowPlace at, Example& example) const {
  std::shared_ptr<const BatchColumn> cells = column(at.batch, true);
  const arrow::Array& array = *cells->array;
  std::optional<std::span<const std::byte>> bytes, path;
  const auto where = [&] { return place(example.row); };
  if (array.type_id() == arrow::Type::STRUCT) {
    if (cells->picture && array.IsValid(at.row)) bytes = cell_bytes(*cells->picture, at.row, where);
    if (cells->path && array.IsValid(at.row)) path = cell_bytes(*cells->path, at.row, where);
  } else {
    (holds_text(*array.type()) ? path : bytes) = cell_bytes(array, at.row, where);
  }
  CANTILEVER_CHECK(bytes || path, place(example.row), ": the picture in ",
                   quoted(options_.image_column), " is null (neither bytes nor a path)");
  example.image_path.clear();
  if (path) {
    example.image_path.assign(reinterpret_cast<const char*>(path->data()), path->size());
  }
  if (!bytes) {
    pictures_.load(example.image_path, [&] { return place(example.row); }, example);
    return;
  }
  if (cells->bytes > kCopyFromBytes) {
    const auto copy = std::make_shared<const std::vector<std::byte>>(bytes->begin(), bytes->end());
    example.encoded = *copy;
    example.owner = copy;
  } else {
    example.encoded = *bytes;
    example.owner = std::move(cells);
  }
}

void ArrowSource::read(int64_t row, uint64_t draw, Example& example) const {
  const RowPlace at = find(row);
  example.row = row;
  example.image_kind = columns_.image_kind;
  set_caption(at, row, draw, example.caption);
  set_picture(at, example);
}

void ArrowSource::read_caption(int64_t row, uint64_t draw, std::string& caption) const {
  set_caption(find(row), row, draw, caption);
}

int64_t ArrowSource::caption_count(int64_t row) const {
  if (!columns_.caption_list) return 1;
  const RowPlace at = find(row);
  return cell_elements(*column(at.batch, false)->array, at.row, [&] { return place(row); }).second;
}

std::string ArrowSource::description() const {
  return concat(file_, " (", size(), " rows in ", index_.batch_ends().size(), " record batches, ",
                describe_columns(columns_, options_), ")");
}

}  // namespace
}  // namespace cantilever
