#pragma once

// Parquet files written by the tests themselves.

#include <arrow/api.h>
#include <arrow/io/file.h>
#include <parquet/arrow/writer.h>

#include <filesystem>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

namespace cantilever::test {

using Texts = std::vector<std::optional<std::string>>;

inline void require(const arrow::Status& status) {
  if (!status.ok()) throw std::runtime_error(status.ToString());
}

template <class Builder>
std::shared_ptr<arrow::Array> array_of(const Texts& values) {
  Builder builder;
  for (const auto& value : values) {
    require(value ? builder.Append(*value) : builder.AppendNull());
  }
  return builder.Finish().ValueOrDie();
}

inline std::shared_ptr<arrow::Array> strings(const Texts& values) {
  return array_of<arrow::StringBuilder>(values);
}

inline std::shared_ptr<arrow::Array> picture_structs(const Texts& bytes, const Texts& paths) {
  return arrow::StructArray::Make({array_of<arrow::BinaryBuilder>(bytes), strings(paths)},
                                  std::vector<std::string>{"bytes", "path"})
      .ValueOrDie();
}

inline void write_parquet(const std::filesystem::path& path, const std::vector<std::string>& names,
                          const std::vector<std::shared_ptr<arrow::Array>>& arrays,
                          int64_t rows_per_group = 1024, const std::string& huggingface = "",
                          bool checksums = false) {
  std::filesystem::create_directories(path.parent_path());
  std::vector<std::shared_ptr<arrow::Field>> fields;
  for (size_t i = 0; i < names.size(); ++i) {
    fields.push_back(arrow::field(names[i], arrays[i]->type()));
  }
  std::shared_ptr<arrow::KeyValueMetadata> metadata;
  if (!huggingface.empty()) {
    metadata = arrow::key_value_metadata({{"huggingface", huggingface}});
  }
  const auto table = arrow::Table::Make(arrow::schema(fields, metadata), arrays);
  const auto file = arrow::io::FileOutputStream::Open(path.string()).ValueOrDie();
  parquet::WriterProperties::Builder writer;
  if (checksums) writer.enable_page_checksum();
  const auto properties = parquet::ArrowWriterProperties::Builder().store_schema()->build();
  require(parquet::arrow::WriteTable(*table, arrow::default_memory_pool(), file, rows_per_group,
                                     writer.build(), properties));
  require(file->Close());
}

}  // namespace cantilever::test
