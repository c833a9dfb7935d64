#include "cantilever/data/source/parquet_source.h"

#include <algorithm>
#include <optional>

#include "cantilever/base/error.h"
#include "cantilever/base/file.h"
#include "cantilever/base/log.h"
#include "cantilever/data/source/parquet_footer.h"
#include "cantilever/data/source/parquet_pages.h"
#include "cantilever/data/source/picture_files.h"
#include "cantilever/data/source/table_fingerprint.h"

namespace cantilever {
namespace {

// Of a page that holds more memory than this a picture is copied out, so that examples in use do
// not keep many such pages.
constexpr int64_t kCopyFromBytes = int64_t{8} << 20;
// Pages of which one more in memory is felt.
constexpr int64_t kHugePageBytes = int64_t{64} << 20U;

class ParquetSource final : public ExampleSource {
 public:
  ParquetSource(const std::filesystem::path& path, const TableOptions& options,
                std::shared_ptr<ParquetCache> cache, int64_t file_number);

  int64_t size() const override { return group_ends_.empty() ? 0 : group_ends_.back(); }
  void read(int64_t row, uint64_t draw, Example& example) const override;
  void read_caption(int64_t row, uint64_t draw, std::string& caption) const override;
  int64_t caption_count(int64_t row) const override;
  uint64_t fingerprint() const override { return table_fingerprint(file_, options_); }
  std::string description() const override;
  std::string place(int64_t row) const override { return concat(file_, ", row ", row); }

 private:
  struct RowPlace {
    int64_t group = 0;
    int64_t row = 0;  // within the group
  };

  RowPlace find(int64_t row) const;
  void set_caption(RowPlace at, int64_t row, uint64_t draw, std::string& caption) const;
  void set_picture(RowPlace at, Example& example) const;

  std::string file_;
  TableOptions options_;
  PictureFiles pictures_;
  std::shared_ptr<const MappedFile> mapped_;
  std::vector<int64_t> group_ends_;  // rows up to the end of each group
  ArrowColumns columns_;
  std::optional<ParquetColumn> bytes_, path_, caption_;
};

ParquetSource::ParquetSource(const std::filesystem::path& path, const TableOptions& options,
                             std::shared_ptr<ParquetCache> cache, int64_t file_number)
    : file_(path.string()),
      options_(options),
      pictures_(picture_root(path, options), options.confine),
      mapped_(std::make_shared<const MappedFile>(path)) {
  ParquetFooter footer = read_parquet_footer(*mapped_, file_, options_);
  group_ends_ = std::move(footer.group_ends);
  columns_ = std::move(footer.columns);
  const auto open = [&](ParquetFooter::Leaf& leaf, bool picture,
                        std::optional<ParquetColumn>& column) {
    if (leaf.number < 0) return;
    column.emplace(ParquetColumn::Place{mapped_, file_, file_number, footer.schema, leaf.number},
                   std::move(leaf.chunks), cache, picture);
  };
  open(footer.bytes, true, bytes_);
  open(footer.path, false, path_);
  open(footer.caption, false, caption_);
}

ParquetSource::RowPlace ParquetSource::find(int64_t row) const {
  CANTILEVER_CHECK(row >= 0 && row < size(), file_, ": there is no row ", row, ", only ", size());
  const auto end = std::upper_bound(group_ends_.begin(), group_ends_.end(), row);
  return {end - group_ends_.begin(), row - (end == group_ends_.begin() ? 0 : *(end - 1))};
}

void ParquetSource::set_caption(RowPlace at, int64_t row, uint64_t draw,
                                std::string& caption) const {
  const ParquetColumn::Cell cell = caption_->read(at.group, at.row, draw);
  CANTILEVER_CHECK(cell.count > 0, place(row), ": ", quoted(options_.caption_column),
                   " is an empty or missing list, there is no caption");
  CANTILEVER_CHECK(cell.value.has_value(), place(row), ": ", quoted(options_.caption_column),
                   caption_->is_list() ? concat(" has null as its caption ",
                                                draw % static_cast<uint64_t>(cell.count))
                                       : " is null, there is no caption");
  caption.assign(reinterpret_cast<const char*>(cell.value->data()), cell.value->size());
}

void ParquetSource::set_picture(RowPlace at, Example& example) const {
  ParquetColumn::Cell bytes, path;
  if (bytes_) bytes = bytes_->read(at.group, at.row, 0);
  if (path_) path = path_->read(at.group, at.row, 0);
  CANTILEVER_CHECK(bytes.value || path.value, place(example.row), ": the picture in ",
                   quoted(options_.image_column), " is null (neither bytes nor a path)");
  example.image_path.clear();
  if (path.value) {
    example.image_path.assign(reinterpret_cast<const char*>(path.value->data()),
                              path.value->size());
  }
  if (!bytes.value) {
    pictures_.load(example.image_path, [&] { return place(example.row); }, example);
    return;
  }
  if (bytes.page->bytes > kHugePageBytes) {
    warn_once(
        concat("page ", file_),
        concat(file_, ": a page of pictures has ", bytes.page->bytes >> 20U,
               " MiB and is unpacked whole for each row that is drawn from it; written with "
               "row groups of 100 rows, as `datasets` does, or without compression, the set is "
               "read many times faster"));
  }
  if (bytes.page->bytes > kCopyFromBytes) {
    const auto copy =
        std::make_shared<const std::vector<std::byte>>(bytes.value->begin(), bytes.value->end());
    example.encoded = *copy;
    example.owner = copy;
  } else {
    example.encoded = *bytes.value;
    example.owner = std::move(bytes.page);
  }
}

void ParquetSource::read(int64_t row, uint64_t draw, Example& example) const {
  const RowPlace at = find(row);
  example.row = row;
  example.image_kind = columns_.image_kind;
  set_caption(at, row, draw, example.caption);
  set_picture(at, example);
}

void ParquetSource::read_caption(int64_t row, uint64_t draw, std::string& caption) const {
  set_caption(find(row), row, draw, caption);
}

int64_t ParquetSource::caption_count(int64_t row) const {
  if (!caption_->is_list()) return 1;
  const RowPlace at = find(row);
  return caption_->read(at.group, at.row, 0).count;
}

std::string ParquetSource::description() const {
  return concat(file_, " (", size(), " rows in ", group_ends_.size(), " row groups, ",
                describe_columns(columns_, options_), ")");
}

}  // namespace

std::shared_ptr<ParquetCache> make_parquet_cache() {
  return std::make_shared<ParquetCache>();
}

std::shared_ptr<ExampleSource> open_parquet(const std::filesystem::path& path,
                                            const TableOptions& options,
                                            std::shared_ptr<ParquetCache> cache,
                                            int64_t file_number) {
  return std::make_shared<ParquetSource>(path, options, std::move(cache), file_number);
}

}  // namespace cantilever
