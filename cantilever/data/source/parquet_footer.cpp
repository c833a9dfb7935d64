#include "cantilever/data/source/parquet_footer.h"

#include <arrow/buffer.h>
#include <arrow/io/memory.h>
#include <arrow/type.h>
#include <parquet/arrow/schema.h>
#include <parquet/file_reader.h>
#include <parquet/metadata.h>
#include <parquet/properties.h>
#include <parquet/schema.h>

#include <algorithm>

#include "cantilever/base/error.h"
#include "cantilever/data/source/arrow_cells.h"

namespace cantilever {
namespace {

constexpr int64_t kMissingHeaderBytes = 100;  // PARQUET-816, as Arrow has it

// What can be said about the file before Arrow sees it.
void check_bytes(const MappedFile& mapped, const std::string& file) {
  const std::string_view text = mapped.text();
  CANTILEVER_CHECK(!text.empty(), file, ": the file is empty (0 bytes), not a Parquet file");
  const std::string pointer = describe_lfs_pointer(mapped.bytes());
  CANTILEVER_CHECK(pointer.empty(), file, ": ", pointer);
  CANTILEVER_CHECK(text.starts_with("PAR1") || text.starts_with("PARE"), file,
                   ": not a Parquet file: its first bytes are ",
                   quoted(std::string(text.substr(0, 8))), ", not 'PAR1'");
  CANTILEVER_CHECK(!text.starts_with("PARE"), file, ": the Parquet file is encrypted");
  CANTILEVER_CHECK(text.size() >= 12 && text.ends_with("PAR1"), file,
                   ": the Parquet file is incomplete (", text.size(),
                   " bytes, and the footer at the end is missing); it was cut off, "
                   "fetch it again");
}

class FooterReader {
 public:
  FooterReader(const MappedFile& mapped, const std::string& file, TableOptions& options)
      : file_(file), options_(options), file_bytes_(static_cast<int64_t>(mapped.bytes().size())) {
    const auto buffer = std::make_shared<arrow::Buffer>(
        reinterpret_cast<const uint8_t*>(mapped.bytes().data()), file_bytes_);
    metadata_ = parquet::ParquetFileReader::Open(std::make_shared<arrow::io::BufferReader>(buffer))
                    ->metadata();
  }

  ParquetFooter read() {
    ParquetFooter footer;
    count_rows(footer);
    std::shared_ptr<arrow::Schema> schema;
    const arrow::Status status =
        parquet::arrow::FromParquetSchema(metadata_->schema(), parquet::ArrowReaderProperties(),
                                          metadata_->key_value_metadata(), &schema);
    CANTILEVER_CHECK(status.ok(), file_, ": not readable as Parquet: ", status.message());
    footer.columns = choose_arrow_columns(file_, *schema, options_);
    // The nodes are shared, the rest of the metadata goes.
    auto descriptor = std::make_shared<parquet::SchemaDescriptor>();
    descriptor->Init(metadata_->schema()->schema_root());
    footer.schema = std::move(descriptor);
    const int image = static_cast<int>(footer.columns.choice.image);
    const arrow::DataType& type = *schema->field(image)->type();
    if (is_picture_struct(type)) {
      footer.bytes = find_child(type, image, "bytes");
      footer.path = find_child(type, image, "path");
    } else {
      (holds_text(type) ? footer.path : footer.bytes) = find_leaf(image, "");
    }
    footer.caption = find_leaf(static_cast<int>(footer.columns.choice.caption), "");
    CANTILEVER_CHECK(footer.caption.number >= 0, file_, ": the column ",
                     quoted(options_.caption_column), " has no values");
    return footer;
  }

 private:
  int64_t most_rows() const { return 100000 + 64 * file_bytes_; }

  void count_rows(ParquetFooter& footer) const {
    int64_t rows = 0;
    const int64_t most = most_rows();
    for (int group = 0; group < metadata_->num_row_groups(); ++group) {
      const int64_t count = metadata_->RowGroup(group)->num_rows();
      CANTILEVER_CHECK(count >= 0, file_, ": row group ", group, " claims ", count, " rows");
      // Rows cost the caller memory (8 bytes each in an order), so a footer may not claim them for
      // free.
      CANTILEVER_CHECK(count <= most && rows + count <= most, file_, ": the footer claims ",
                       rows + std::min(count, most), " rows or more, which ", file_bytes_,
                       " bytes cannot hold");
      footer.group_ends.push_back(rows += count);
    }
    CANTILEVER_CHECK(rows == metadata_->num_rows(), file_, ": the footer claims ",
                     metadata_->num_rows(), " rows, its row groups ", rows,
                     "; the file is damaged");
  }

  ParquetFooter::Leaf find_child(const arrow::DataType& type, int column,
                                 const std::string& name) const {
    const auto field = static_cast<const arrow::StructType&>(type).GetFieldByName(name);
    if (!field || field->type()->id() == arrow::Type::NA) return {};
    return find_leaf(column, name);
  }

  // The leaf of a top column, or of its member `child`, with its chunks.
  ParquetFooter::Leaf find_leaf(int column, const std::string& child) const {
    const parquet::SchemaDescriptor& schema = *metadata_->schema();
    const parquet::schema::Node* root = schema.group_node()->field(column).get();
    for (int number = 0; number < schema.num_columns(); ++number) {
      if (schema.GetColumnRoot(number) != root) continue;
      const parquet::ColumnDescriptor& leaf = *schema.Column(number);
      if (!child.empty() && leaf.name() != child) continue;
      const auto type = leaf.physical_type();
      CANTILEVER_CHECK(
          type == parquet::Type::BYTE_ARRAY || type == parquet::Type::FIXED_LEN_BYTE_ARRAY, file_,
          ": column ", quoted(leaf.path()->ToDotString()), " is stored as ",
          parquet::TypeToString(type), ", not as byte strings");
      CANTILEVER_CHECK(leaf.max_repetition_level() <= 1, file_, ": column ",
                       quoted(leaf.path()->ToDotString()), " is nested too deep");
      return {number, chunks_of(number)};
    }
    return {};
  }

  std::vector<ParquetChunk> chunks_of(int leaf) const {
    std::vector<ParquetChunk> chunks;
    for (int group = 0; group < metadata_->num_row_groups(); ++group) {
      chunks.push_back(chunk_of(group, leaf));
    }
    return chunks;
  }

  ParquetChunk chunk_of(int group, int leaf) const {
    const auto row_group = metadata_->RowGroup(group);
    const auto column = row_group->ColumnChunk(leaf);
    const auto where = [&] { return concat(file_, ": row group ", group, ", column ", leaf); };
    CANTILEVER_CHECK(!column->crypto_metadata(), where(), ": it is encrypted");
    ParquetChunk chunk;
    chunk.rows = row_group->num_rows();
    chunk.values = column->num_values();
    chunk.codec = static_cast<int16_t>(column->compression());
    chunk.begin = column->data_page_offset();
    // Some writers say 0 where there is no dictionary.
    if (column->has_dictionary_page() && column->dictionary_page_offset() > 0) {
      chunk.begin = std::min(chunk.begin, column->dictionary_page_offset());
    }
    const int64_t size = column->total_compressed_size();
    CANTILEVER_CHECK(chunk.begin >= 0 && size >= 0 && chunk.begin <= file_bytes_ &&
                         size <= file_bytes_ - chunk.begin && chunk.values >= 0 &&
                         chunk.values <= most_rows(),
                     where(), ": bytes ", chunk.begin, " and ", size, " more, ", chunk.values,
                     " values: not in a file of ", file_bytes_, " bytes; the file is damaged");
    chunk.end = chunk.begin + size;
    const parquet::ApplicationVersion& writer = metadata_->writer_version();
    if (writer.VersionLt(parquet::ApplicationVersion::PARQUET_816_FIXED_VERSION())) {
      chunk.end += std::min(kMissingHeaderBytes, file_bytes_ - chunk.end);
    }
    chunk.v2_always_compressed =
        writer.VersionLt(parquet::ApplicationVersion::PARQUET_CPP_10353_FIXED_VERSION());
    const auto index = column->GetOffsetIndexLocation();
    if (index && index->offset >= 0 && index->length > 0 && index->offset <= file_bytes_ &&
        index->length <= file_bytes_ - index->offset) {
      chunk.index_begin = index->offset;
      chunk.index_bytes = index->length;
    }
    return chunk;
  }

  const std::string& file_;
  TableOptions& options_;
  int64_t file_bytes_;
  std::shared_ptr<parquet::FileMetaData> metadata_;
};

}  // namespace

ParquetFooter read_parquet_footer(const MappedFile& mapped, const std::string& file,
                                  TableOptions& options) {
  check_bytes(mapped, file);
  try {
    return FooterReader(mapped, file, options).read();
  } catch (const Error&) {
    throw;
  } catch (const InternalError&) {
    throw;
  } catch (const std::bad_alloc&) {
    throw_error(concat(file, ": there is not enough memory for the footer"));
  } catch (const std::exception& error) {
    throw_error(concat(file, ": not readable as Parquet: ", error.what()));
  }
}

}  // namespace cantilever
