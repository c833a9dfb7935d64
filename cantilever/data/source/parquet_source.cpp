#include "cantilever/data/source/parquet_source.h"

#include <arrow/array.h>
#include <arrow/io/file.h>
#include <arrow/record_batch.h>
#include <arrow/type.h>
#include <arrow/util/key_value_metadata.h>
#include <parquet/arrow/reader.h>
#include <parquet/file_reader.h>
#include <parquet/metadata.h>
#include <parquet/properties.h>
#include <parquet/schema.h>

#include <algorithm>

#include "cantilever/base/error.h"
#include "cantilever/base/file.h"
#include "cantilever/base/log.h"
#include "cantilever/data/source/arrow_cells.h"
#include "cantilever/data/source/block_cache.h"
#include "cantilever/data/source/picture_files.h"
#include "cantilever/data/source/record_source.h"
#include "cantilever/io/json.h"

namespace cantilever {
namespace {

constexpr int64_t kImageCacheBytes = int64_t{512} << 20;
constexpr int64_t kCaptionCacheBytes = int64_t{64} << 20;
constexpr int64_t kReadBytes = int64_t{4} << 20;  // a read of a column chunk
// A row group is decoded in pieces of about this size, so that no array of a piece outgrows the
// 32-bit offsets that nested byte columns have.
constexpr int64_t kPieceBytes = int64_t{256} << 20;

// One column of one row group, in the pieces it was decoded in.
struct DecodedColumn {
  struct Piece {
    int64_t first = 0;  // row within the group
    std::shared_ptr<arrow::Array> array;
    std::shared_ptr<arrow::Array> bytes, path;  // children of a picture struct, when there
  };
  std::vector<Piece> pieces;
  int64_t bytes = 0;
};

using ColumnCache = BlockCache<DecodedColumn>;

// Calls Arrow and turns whatever it throws into an Error that names the file.
template <class Function>
auto call_arrow(const std::string& file, const Function& function) {
  try {
    return function();
  } catch (const Error&) {
    throw;
  } catch (const InternalError&) {
    throw;
  } catch (const std::bad_alloc&) {
    throw_error(concat(file, ": there is not enough memory to decode a row group"));
  } catch (const std::exception& error) {
    throw_error(concat(file, ": not readable as Parquet: ", error.what()));
  }
}

void check_status(const std::string& file, const arrow::Status& status) {
  CANTILEVER_CHECK(status.ok(), file, ": not readable as Parquet: ", status.message());
}

template <class T>
T take(const std::string& file, arrow::Result<T> result) {
  check_status(file, result.status());
  return std::move(result).ValueUnsafe();
}

// What can be said about the file before Arrow sees it.
void check_bytes(const MappedFile& mapped, const std::string& file) {
  const std::string_view text = mapped.text();
  CANTILEVER_CHECK(!text.empty(), file, ": the file is empty (0 bytes), not a Parquet file");
  const std::string pointer = describe_lfs_pointer(mapped.bytes());
  CANTILEVER_CHECK(pointer.empty(), file, ": ", pointer);
  CANTILEVER_CHECK(text.starts_with("PAR1"), file, ": not a Parquet file: its first bytes are ",
                   quoted(std::string(text.substr(0, 8))), ", not 'PAR1'");
  CANTILEVER_CHECK(text.size() >= 12 && text.ends_with("PAR1"), file,
                   ": the Parquet file is incomplete (", text.size(),
                   " bytes, and the footer at the end is missing); it was cut off, "
                   "fetch it again");
}

// The columns to which the metadata of `datasets` gives the type Image.
std::vector<std::string> find_image_features(const arrow::Schema& schema, const std::string& file) {
  std::vector<std::string> names;
  if (!schema.metadata()) return names;
  const arrow::Result<std::string> text = schema.metadata()->Get("huggingface");
  if (!text.ok()) return names;
  try {
    const Json features = parse_json(*text, file).at("info").at("features");
    for (const auto& [name, feature] : features.items()) {
      if (feature.is_object() && feature.value("_type", Json()) == "Image") names.push_back(name);
    }
  } catch (const std::exception& error) {
    log_warning(concat(file, ": the 'huggingface' metadata are not as `datasets` writes them (",
                       error.what(), "); the pictures are taken as plain bytes"));
  }
  return names;
}

class ParquetSource final : public ExampleSource {
 public:
  ParquetSource(const std::filesystem::path& path, const TableOptions& options,
                std::shared_ptr<ParquetCache> cache, int64_t file_number);

  int64_t size() const override { return group_ends_.empty() ? 0 : group_ends_.back(); }
  void read(int64_t row, uint64_t draw, Example& example) const override;
  void read_caption(int64_t row, uint64_t draw, std::string& caption) const override;
  uint64_t fingerprint() const override { return file_fingerprint(file_); }
  std::string description() const override;
  std::string place(int64_t row) const override { return concat(file_, ", row ", row); }

 private:
  struct Cell {
    std::shared_ptr<const DecodedColumn> column;  // owner
    const DecodedColumn::Piece* piece = nullptr;
    int64_t row = 0;  // within the piece
  };

  std::unique_ptr<parquet::arrow::FileReader> make_reader(int64_t batch_rows) const;
  void read_layout();
  void choose(const arrow::Schema& schema);
  Cell find_cell(int64_t row, size_t column) const;
  std::shared_ptr<const DecodedColumn> decode(int64_t group, size_t column) const;
  std::string caption_of(const Cell& cell, int64_t row) const;
  void set_picture(const Cell& cell, Example& example) const;

  std::string file_;
  TableOptions options_;
  PictureFiles pictures_;
  std::shared_ptr<ParquetCache> cache_;
  int64_t file_number_;
  int64_t file_bytes_ = 0;
  std::shared_ptr<parquet::FileMetaData> metadata_;
  std::vector<int64_t> group_ends_;  // rows up to the end of each group
  ColumnChoice choice_;
  ImageKind image_kind_ = ImageKind::kBytes;
  std::string image_type_;
};

}  // namespace

class ParquetCache {
 public:
  // Apart, so that a large row group of pictures and its captions do not push each other out.
  ColumnCache images{kImageCacheBytes};
  ColumnCache captions{kCaptionCacheBytes};
};

std::shared_ptr<ParquetCache> make_parquet_cache() {
  return std::make_shared<ParquetCache>();
}

std::shared_ptr<ExampleSource> open_parquet(const std::filesystem::path& path,
                                            const TableOptions& options,
                                            std::shared_ptr<ParquetCache> cache,
                                            int64_t file_number) {
  return std::make_shared<ParquetSource>(path, options, std::move(cache), file_number);
}

namespace {

ParquetSource::ParquetSource(const std::filesystem::path& path, const TableOptions& options,
                             std::shared_ptr<ParquetCache> cache, int64_t file_number)
    : file_(path.string()),
      options_(options),
      pictures_(picture_root(path, options), options.confine),
      cache_(std::move(cache)),
      file_number_(file_number) {
  const MappedFile mapped(path);
  check_bytes(mapped, file_);
  file_bytes_ = static_cast<int64_t>(mapped.bytes().size());
  call_arrow(file_, [&] { read_layout(); });
}

// Readers are made for one use: they are cheap once the footer is parsed, and not safe to share.
std::unique_ptr<parquet::arrow::FileReader> ParquetSource::make_reader(int64_t batch_rows) const {
  parquet::ReaderProperties properties(arrow::default_memory_pool());
  properties.set_page_checksum_verification(true);
  parquet::ArrowReaderProperties arrow_properties(/*use_threads=*/false);
  arrow_properties.set_pre_buffer(false);  // it would use Arrow's own threads
  arrow_properties.set_batch_size(batch_rows);
  // Read, not mapped: resident memory stays bounded, and one descriptor is open a read, not a
  // shard.
  properties.enable_buffered_stream();
  properties.set_buffer_size(kReadBytes);
  auto file = parquet::ParquetFileReader::Open(take(file_, arrow::io::ReadableFile::Open(file_)),
                                               properties, metadata_);
  return take(file_, parquet::arrow::FileReader::Make(arrow::default_memory_pool(), std::move(file),
                                                      arrow_properties));
}

void ParquetSource::read_layout() {
  const auto reader = make_reader(1);
  metadata_ = reader->parquet_reader()->metadata();
  int64_t rows = 0;
  for (int group = 0; group < metadata_->num_row_groups(); ++group) {
    const int64_t count = metadata_->RowGroup(group)->num_rows();
    CANTILEVER_CHECK(count >= 0 && count <= INT64_MAX - rows, file_, ": row group ", group,
                     " claims ", count, " rows; the file is damaged");
    rows += count;
    group_ends_.push_back(rows);
  }
  CANTILEVER_CHECK(rows == metadata_->num_rows(), file_, ": the footer claims ",
                   metadata_->num_rows(), " rows, its row groups ", rows, "; the file is damaged");
  // Rows cost the caller memory (8 bytes each in an order), so a footer may not claim them for
  // free.
  const int64_t most = 1000000 + 64 * file_bytes_;
  CANTILEVER_CHECK(rows <= most, file_, ": the footer claims ", rows, " rows, which ", file_bytes_,
                   " bytes cannot hold");
  std::shared_ptr<arrow::Schema> schema;
  check_status(file_, reader->GetSchema(&schema));
  choose(*schema);
}

void ParquetSource::choose(const arrow::Schema& schema) {
  const std::vector<std::string> features = find_image_features(schema, file_);
  const auto is_feature = [&](const std::string& name) {
    return std::find(features.begin(), features.end(), name) != features.end();
  };
  std::vector<ColumnInfo> columns;
  for (const auto& field : schema.fields()) {
    ColumnInfo column;
    column.name = presented_name(field->name(), options_.image_folder);
    column.type = field->type()->ToString();
    column.text = holds_text(*field->type());
    column.looks_picture = is_picture_struct(*field->type()) || holds_bytes(*field->type()) ||
                           is_feature(field->name()) || column.name != field->name() ||
                           (column.text && named_like_picture(field->name()));
    column.picture =
        column.text || is_picture_struct(*field->type()) || holds_bytes(*field->type());
    columns.push_back(std::move(column));
  }
  choice_ = choose_columns(file_, columns, options_);
  const auto& image = schema.field(static_cast<int>(choice_.image));
  image_type_ = columns[choice_.image].type;
  if (is_feature(image->name()) || options_.image_folder) {
    image_kind_ = ImageKind::kImageFeature;
  } else {
    image_kind_ = holds_text(*image->type()) ? ImageKind::kPath : ImageKind::kBytes;
  }
}

std::shared_ptr<const DecodedColumn> ParquetSource::decode(int64_t group, size_t column) const {
  const auto info = metadata_->RowGroup(static_cast<int>(group));
  const parquet::SchemaDescriptor& schema = *metadata_->schema();
  const std::string& name = schema.group_node()->field(static_cast<int>(column))->name();
  std::vector<int> leaves;
  int64_t claimed = 0;  // only steers the size of the pieces
  for (int leaf = 0; leaf < schema.num_columns(); ++leaf) {
    if (schema.GetColumnRoot(leaf) != schema.group_node()->field(static_cast<int>(column)).get())
      continue;
    leaves.push_back(leaf);
    claimed += std::max<int64_t>(0, info->ColumnChunk(leaf)->total_uncompressed_size());
  }
  const int64_t per_row = std::max<int64_t>(1, claimed / std::max<int64_t>(1, info->num_rows()));
  const auto reader = make_reader(std::clamp<int64_t>(kPieceBytes / per_row, 1, 65536));
  const auto batches = take(file_, reader->GetRecordBatchReader({static_cast<int>(group)}, leaves));
  auto decoded = std::make_shared<DecodedColumn>();
  int64_t rows = 0;
  for (;;) {
    std::shared_ptr<arrow::RecordBatch> batch;
    check_status(file_, batches->ReadNext(&batch));
    if (!batch) break;
    CANTILEVER_CHECK(batch->num_columns() == 1, file_, ": column ", quoted(name),
                     " did not come out as one column; the file is damaged");
    DecodedColumn::Piece piece;
    piece.first = rows;
    piece.array = batch->column(0);
    check_status(file_, piece.array->Validate());
    if (is_picture_struct(*piece.array->type())) {
      piece.bytes = struct_child(*piece.array, "bytes");
      piece.path = struct_child(*piece.array, "path");
    }
    decoded->bytes += array_bytes(*piece.array);
    rows += batch->num_rows();
    decoded->pieces.push_back(std::move(piece));
  }
  CANTILEVER_CHECK(rows == info->num_rows(), file_, ": row group ", group, " holds ", rows,
                   " rows of ", quoted(name), " where ", info->num_rows(),
                   " are claimed; the file is damaged");
  return decoded;
}

ParquetSource::Cell ParquetSource::find_cell(int64_t row, size_t column) const {
  CANTILEVER_CHECK(row >= 0 && row < size(), file_, ": there is no row ", row, ", only ", size());
  const auto group_end = std::upper_bound(group_ends_.begin(), group_ends_.end(), row);
  const int64_t group = group_end - group_ends_.begin();
  const int64_t in_group = row - (group == 0 ? 0 : *(group_end - 1));
  Cell cell;
  ColumnCache& cache = column == choice_.image ? cache_->images : cache_->captions;
  cell.column = cache.get({file_number_, group, static_cast<int64_t>(column)},
                          [&] { return call_arrow(file_, [&] { return decode(group, column); }); });
  const auto& pieces = cell.column->pieces;
  const auto after = std::upper_bound(
      pieces.begin(), pieces.end(), in_group,
      [](int64_t wanted, const DecodedColumn::Piece& piece) { return wanted < piece.first; });
  cell.piece = &*(after - 1);
  cell.row = in_group - cell.piece->first;
  return cell;
}

std::string ParquetSource::caption_of(const Cell& cell, int64_t row) const {
  const auto text = cell_bytes(*cell.piece->array, cell.row, file_);
  CANTILEVER_CHECK(text.has_value(), place(row), ": ", quoted(options_.caption_column),
                   " is null, there is no caption");
  return {reinterpret_cast<const char*>(text->data()), text->size()};
}

void ParquetSource::set_picture(const Cell& cell, Example& example) const {
  const DecodedColumn::Piece& piece = *cell.piece;
  const auto null_message = [&] {
    return concat(place(example.row), ": the picture in ", quoted(options_.image_column),
                  " is null (neither bytes nor a path)");
  };
  CANTILEVER_CHECK(!piece.array->IsNull(cell.row), null_message());
  std::optional<std::span<const std::byte>> bytes;
  std::optional<std::span<const std::byte>> path;
  if (is_picture_struct(*piece.array->type())) {
    if (piece.bytes) bytes = cell_bytes(*piece.bytes, cell.row, file_);
    if (piece.path) path = cell_bytes(*piece.path, cell.row, file_);
  } else if (holds_text(*piece.array->type())) {
    path = cell_bytes(*piece.array, cell.row, file_);
  } else {
    bytes = cell_bytes(*piece.array, cell.row, file_);
  }
  CANTILEVER_CHECK(bytes.has_value() || path.has_value(), null_message());
  example.image_path.clear();
  if (path) {
    example.image_path.assign(reinterpret_cast<const char*>(path->data()), path->size());
  }
  if (bytes) {
    example.encoded = *bytes;
    example.owner = cell.column;
  } else {
    const std::string stored = example.image_path;
    pictures_.load(stored, [&] { return place(example.row); }, example);
  }
}

void ParquetSource::read(int64_t row, uint64_t, Example& example) const {
  example.row = row;
  example.image_kind = image_kind_;
  example.caption = caption_of(find_cell(row, choice_.caption), row);
  set_picture(find_cell(row, choice_.image), example);
}

void ParquetSource::read_caption(int64_t row, uint64_t, std::string& caption) const {
  caption = caption_of(find_cell(row, choice_.caption), row);
}

std::string ParquetSource::description() const {
  const char* kind = image_kind_ == ImageKind::kImageFeature ? "an Image feature of datasets"
                     : image_kind_ == ImageKind::kPath       ? "paths"
                                                             : "bytes";
  return concat(file_, " (", size(), " rows in ", group_ends_.size(), " row groups, pictures in ",
                quoted(options_.image_column), " as ", image_type_, " (", kind, "), captions in ",
                quoted(options_.caption_column), ")");
}

}  // namespace
}  // namespace cantilever
