// fuzz_table_seeds FOLDER: small Parquet and Arrow IPC files of several kinds in FOLDER/parquet and
// FOLDER/arrow.

#include <arrow/api.h>
#include <arrow/io/api.h>
#include <arrow/ipc/api.h>
#include <arrow/util/compression.h>
#include <parquet/arrow/writer.h>

#include <cstdio>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

namespace {

namespace fs = std::filesystem;
using Table = std::shared_ptr<arrow::Table>;

template <class T>
T take(arrow::Result<T> result) {
  return std::move(result).ValueOrDie();
}

void check(const arrow::Status& status) {
  if (!status.ok()) status.Abort();
}

std::shared_ptr<arrow::Array> texts(const std::vector<std::string>& values) {
  arrow::StringBuilder builder;
  for (const std::string& value : values) check(builder.Append(value));
  check(builder.AppendNull());
  return take(builder.Finish());
}

std::shared_ptr<arrow::Array> pictures() {
  auto bytes = std::make_shared<arrow::BinaryBuilder>();
  auto path = std::make_shared<arrow::StringBuilder>();
  arrow::StructBuilder builder(
      arrow::struct_({arrow::field("bytes", arrow::binary()), arrow::field("path", arrow::utf8())}),
      arrow::default_memory_pool(), {bytes, path});
  check(builder.Append());
  check(bytes->Append("GIF89a\x01\x00\x01"));
  check(path->AppendNull());
  check(builder.Append());
  check(bytes->AppendNull());
  check(path->Append("1.png"));
  check(builder.AppendNull());
  return take(builder.Finish());
}

std::shared_ptr<arrow::Array> caption_lists() {
  auto values = std::make_shared<arrow::StringBuilder>();
  arrow::ListBuilder builder(arrow::default_memory_pool(), values);
  check(builder.Append());
  check(values->Append("one"));
  check(values->Append("two"));
  check(builder.Append());
  check(builder.AppendNull());
  return take(builder.Finish());
}

Table make_table(const std::shared_ptr<arrow::Array>& image,
                 const std::shared_ptr<arrow::Array>& caption) {
  return arrow::Table::Make(arrow::schema({arrow::field("image", image->type()),
                                           arrow::field("caption", caption->type())}),
                            {image, caption});
}

std::vector<Table> make_tables() {
  arrow::LargeBinaryBuilder large;
  for (const char* value : {"abc", "defg", ""}) check(large.Append(value));
  arrow::StringDictionaryBuilder dictionary;
  for (const char* value : {"x", "y", "x"}) check(dictionary.Append(value));
  return {make_table(pictures(), texts({"a caption", ""})),
          make_table(take(large.Finish()), caption_lists()),
          make_table(texts({"1.png", "2.png"}), take(dictionary.Finish()))};
}

void write_parquet(const fs::path& file, const Table& table, bool modern) {
  const auto out = take(arrow::io::FileOutputStream::Open(file.string()));
  parquet::WriterProperties::Builder properties;
  properties.compression(modern ? parquet::Compression::ZSTD : parquet::Compression::UNCOMPRESSED);
  if (modern) {
    properties.data_page_version(parquet::ParquetDataPageVersion::V2)
        ->enable_write_page_index()
        ->disable_dictionary()
        ->enable_page_checksum();
  }
  check(parquet::arrow::WriteTable(*table, arrow::default_memory_pool(), out, modern ? 2 : 1024,
                                   properties.build()));
}

void write_ipc(const fs::path& file, const Table& table, bool as_file, bool compressed) {
  const auto out = take(arrow::io::FileOutputStream::Open(file.string()));
  auto options = arrow::ipc::IpcWriteOptions::Defaults();
  if (compressed) {
    options.codec = take(arrow::util::Codec::Create(arrow::Compression::LZ4_FRAME));
  }
  const auto writer = take(as_file ? arrow::ipc::MakeFileWriter(out, table->schema(), options)
                                   : arrow::ipc::MakeStreamWriter(out, table->schema(), options));
  check(writer->WriteTable(*table));
  check(writer->Close());
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: %s FOLDER\n", argv[0]);
    return 2;
  }
  const fs::path folder = argv[1];
  fs::create_directories(folder / "parquet");
  fs::create_directories(folder / "arrow");
  int number = 0;
  for (const Table& table : make_tables()) {
    for (const bool first : {false, true}) {
      const std::string name = "table-" + std::to_string(number++);
      write_parquet(folder / "parquet" / name, table, first);
      write_ipc(folder / "arrow" / name, table, first, number % 3 == 0);
    }
  }
  return 0;
}
