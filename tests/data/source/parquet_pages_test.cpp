// Every way in which a writer may lay out a column: codec, encoding, page version, page size,
// offset index. The rows have to be the same through all of them.

#include <arrow/util/compression.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <fstream>
#include <random>
#include <thread>

#include "cantilever/base/error.h"
#include "cantilever/base/file.h"
#include "cantilever/base/log.h"
#include "cantilever/data/source/parquet_page_header.h"
#include "tests/data/source/mapped_files.h"
#include "tests/data/source/parquet_files.h"
#include "tests/data/source/table_files.h"

namespace cantilever {
namespace {

using test::error_of;
using test::picture_structs;
using test::require;
using test::source_options;
using test::strings;
using test::Texts;
using testing::AllOf;
using testing::HasSubstr;

struct Layout {
  arrow::Compression::type codec = arrow::Compression::UNCOMPRESSED;
  bool dictionary = false;
  parquet::Encoding::type encoding = parquet::Encoding::PLAIN;
  bool v2 = false;
  bool index = false;
};

std::shared_ptr<parquet::WriterProperties> properties(const Layout& layout) {
  parquet::WriterProperties::Builder writer;
  writer.compression(layout.codec)->write_batch_size(7)->data_pagesize(200);
  writer.data_page_version(layout.v2 ? parquet::ParquetDataPageVersion::V2
                                     : parquet::ParquetDataPageVersion::V1);
  if (layout.dictionary) {
    writer.enable_dictionary()->dictionary_pagesize_limit(1000);
  } else {
    writer.disable_dictionary()->encoding(layout.encoding);
  }
  if (layout.index) {
    writer.enable_write_page_index();
  } else {
    writer.disable_write_page_index();
  }
  writer.enable_page_checksum();
  return writer.build();
}

void write(const std::filesystem::path& path, const std::vector<std::string>& names,
           const std::vector<std::shared_ptr<arrow::Array>>& arrays, int64_t group,
           const std::shared_ptr<parquet::WriterProperties>& layout) {
  std::vector<std::shared_ptr<arrow::Field>> fields;
  for (size_t i = 0; i < names.size(); ++i) {
    fields.push_back(arrow::field(names[i], arrays[i]->type()));
  }
  std::filesystem::remove(path);
  const auto file = arrow::io::FileOutputStream::Open(path.string()).ValueOrDie();
  require(parquet::arrow::WriteTable(*arrow::Table::Make(arrow::schema(fields), arrays),
                                     arrow::default_memory_pool(), file, group, layout));
  require(file->Close());
}

std::vector<Layout> all_layouts() {
  std::vector<Layout> layouts;
  for (const auto codec :
       {arrow::Compression::UNCOMPRESSED, arrow::Compression::SNAPPY, arrow::Compression::GZIP,
        arrow::Compression::BROTLI, arrow::Compression::ZSTD, arrow::Compression::LZ4}) {
    EXPECT_TRUE(arrow::util::Codec::IsAvailable(codec));
    for (const bool v2 : {false, true}) {
      for (const bool index : {false, true}) {
        layouts.push_back({codec, true, parquet::Encoding::PLAIN, v2, index});
        for (const auto encoding :
             {parquet::Encoding::PLAIN, parquet::Encoding::DELTA_LENGTH_BYTE_ARRAY,
              parquet::Encoding::DELTA_BYTE_ARRAY}) {
          layouts.push_back({codec, false, encoding, v2, index});
        }
      }
    }
  }
  return layouts;
}

std::string name_of(const Layout& layout) {
  return concat(arrow::util::Codec::GetCodecAsString(layout.codec), " ",
                layout.dictionary ? "dictionary" : parquet::EncodingToString(layout.encoding), " v",
                layout.v2 ? 2 : 1, layout.index ? " index" : "");
}

std::optional<std::string> some_text(const std::string& prefix, int row) {
  if (row % 11 == 3) return std::nullopt;
  if (row % 13 == 4) return "";
  return prefix + std::string(static_cast<size_t>(row % 29), 'x') + std::to_string(row % 40);
}

// Captions of a row: none, null, or up to 5 with nulls between, and one row with very many.
std::optional<Texts> some_texts(int row) {
  if (row % 17 == 5) return std::nullopt;
  Texts texts;
  const int count = row == 40 ? 400 : row % 6;
  for (int i = 0; i < count; ++i) texts.push_back(some_text(concat("caption ", i, " "), row + i));
  return texts;
}

template <class Builder, class ValueBuilder>
std::shared_ptr<arrow::Array> lists(int rows) {
  const auto values = std::make_shared<ValueBuilder>();
  Builder builder(arrow::default_memory_pool(), values);
  for (int row = 0; row < rows; ++row) {
    const auto texts = some_texts(row);
    require(texts ? builder.Append() : builder.AppendNull());
    if (!texts) continue;
    for (const auto& text : *texts) require(text ? values->Append(*text) : values->AppendNull());
  }
  return builder.Finish().ValueOrDie();
}

void check_lists(const ExampleSource& source, int rows) {
  ASSERT_EQ(source.size(), rows);
  std::string caption;
  for (int row = rows - 1; row >= 0; --row) {
    const Texts texts = some_texts(row).value_or(Texts());
    ASSERT_EQ(source.caption_count(row), static_cast<int64_t>(texts.size())) << row;
    if (texts.empty()) {
      EXPECT_THAT(error_of([&] { source.read_caption(row, 3, caption); }),
                  AllOf(HasSubstr(concat("row ", row)), HasSubstr("empty or missing list")));
      continue;
    }
    for (uint64_t draw = 0; draw < 2 * texts.size(); ++draw) {
      const auto& text = texts[draw % texts.size()];
      const std::string error = error_of([&] { source.read_caption(row, draw, caption); });
      if (text) {
        ASSERT_EQ(error, "") << row;
        EXPECT_EQ(caption, *text) << row;
      } else {
        EXPECT_THAT(error, AllOf(HasSubstr(concat("row ", row)), HasSubstr("null"))) << row;
      }
    }
  }
}

class ParquetPages : public testing::Test {
 protected:
  std::shared_ptr<ExampleSource> open() { return open_source(path_, source_options("image")); }

  test::TemporaryFolder folder_;
  const std::filesystem::path path_ = folder_ / "rows.parquet";
};

TEST_F(ParquetPages, EveryLayoutGivesTheSameRows) {
  constexpr int kRows = 150;
  Texts bytes, paths, captions;
  for (int row = 0; row < kRows; ++row) {
    bytes.push_back(some_text("picture ", row));
    paths.push_back(some_text("path ", row + 1));
    captions.push_back(some_text("caption ", row + 2));
  }
  for (const Layout& layout : all_layouts()) {
    SCOPED_TRACE(name_of(layout));
    write(path_, {"image", "caption"}, {picture_structs(bytes, paths), strings(captions)}, 60,
          properties(layout));
    const auto source = open();
    ASSERT_EQ(source->size(), kRows);
    for (int i = 0; i < kRows; ++i) {
      const int row = i * 77 % kRows;
      const size_t at = static_cast<size_t>(row);
      Example example;
      const std::string error = error_of([&] { source->read(row, 0, example); });
      if (!captions[at] || !bytes[at]) {
        EXPECT_THAT(error, HasSubstr(concat("row ", row)));
        continue;
      }
      ASSERT_EQ(error, "");
      EXPECT_EQ(test::picture_of(example), *bytes[at]);
      EXPECT_EQ(example.image_path, paths[at].value_or(""));
      EXPECT_EQ(example.caption, *captions[at]);
    }
  }
}

TEST_F(ParquetPages, EveryLayoutGivesTheSameLists) {
  constexpr int kRows = 60;
  Texts bytes(kRows, "picture");
  const auto captions = lists<arrow::ListBuilder, arrow::StringBuilder>(kRows);
  for (const Layout& layout : all_layouts()) {
    SCOPED_TRACE(name_of(layout));
    write(path_, {"image", "caption"}, {test::array_of<arrow::BinaryBuilder>(bytes), captions}, 45,
          properties(layout));
    check_lists(*open(), kRows);
  }
}

TEST_F(ParquetPages, ListsOfEveryType) {
  const auto pictures = test::array_of<arrow::BinaryBuilder>(Texts(30, "picture"));
  for (const auto& captions : {lists<arrow::ListBuilder, arrow::LargeStringBuilder>(30),
                               lists<arrow::LargeListBuilder, arrow::StringBuilder>(30),
                               lists<arrow::LargeListBuilder, arrow::LargeStringBuilder>(30)}) {
    test::write_parquet(path_, {"image", "caption"}, {pictures, captions});
    const auto source = open();
    check_lists(*source, 30);
    EXPECT_THAT(source->description(), HasSubstr("list"));
  }
}

TEST_F(ParquetPages, FixedSizeBytesArePictures) {
  const Texts bytes = {"abc", "def", std::nullopt, "abc"};
  arrow::FixedSizeBinaryBuilder builder(arrow::fixed_size_binary(3));
  for (const auto& value : bytes) require(value ? builder.Append(*value) : builder.AppendNull());
  const auto pictures = builder.Finish().ValueOrDie();
  for (const bool dictionary : {false, true}) {
    Layout layout;
    layout.dictionary = dictionary;
    write(path_, {"image", "caption"}, {pictures, strings({"a", "b", "c", "d"})}, 10,
          properties(layout));
    const auto source = open();
    EXPECT_EQ(test::picture_of(source->get(1)), "def");
    EXPECT_EQ(test::picture_of(source->get(3)), "abc");
    EXPECT_THAT(error_of([&] { source->get(2); }), HasSubstr("null"));
  }
}

TEST_F(ParquetPages, PlainPagesAreViewsOfTheFile) {
  Texts bytes(20, std::string(3000, 'p'));
  for (const bool v2 : {false, true}) {
    for (const bool nulls : {false, true}) {
      if (nulls) bytes[7] = std::nullopt;
      Layout layout;
      layout.v2 = v2;
      write(path_, {"image", "caption"},
            {picture_structs(bytes, Texts(20, "p")), strings(Texts(20, "c"))}, 8,
            properties(layout));
      const auto source = open();
      for (const int row : {0, 6, 19}) {
        const Example example = source->get(row);
        EXPECT_EQ(test::picture_of(example), *bytes[0]);
        EXPECT_TRUE(test::lies_in_mapped_file(example.encoded, path_));
      }
    }
  }
}

// An offset index that is nonsense is not believed: the headers are read.
TEST_F(ParquetPages, ADamagedOffsetIndexIsNoHarm) {
  Layout layout;
  layout.index = true;
  Texts bytes;
  for (int row = 0; row < 50; ++row) bytes.push_back(concat("picture number ", row));
  write(path_, {"image", "caption"}, {test::array_of<arrow::BinaryBuilder>(bytes), strings(bytes)},
        25, properties(layout));
  const std::string whole = read_file(path_);
  // The indexes lie between the last page and the footer.
  uint32_t footer = 0;
  std::memcpy(&footer, whole.data() + whole.size() - 8, 4);
  const size_t end = whole.size() - 8 - footer;
  const size_t begin = whole.rfind("picture number 49", end) + 17;
  ASSERT_LT(begin, end);
  int right = 0;
  for (size_t at = begin; at < end; ++at) {
    std::string damaged = whole;
    damaged[at] = static_cast<char>(damaged[at] ^ 0x5a);
    test::replace_file(path_, damaged);
    const auto source = open();
    for (int64_t row = 0; row < 50; ++row) {
      std::string caption;
      const std::string error = error_of([&] { source->read_caption(row, 0, caption); });
      if (error.empty()) {
        EXPECT_EQ(caption, bytes[static_cast<size_t>(row)]);
        ++right;
      } else {
        EXPECT_THAT(error, HasSubstr("rows.parquet"));
      }
    }
  }
  EXPECT_GT(right, static_cast<int>(end - begin) * 40);
}

// Every byte of a file of every layout changed in turn.
TEST_F(ParquetPages, DamagedPagesNeverCrash) {
  const Texts texts = {"one", "two", std::nullopt, "four four four", "five", "one", "two"};
  const auto captions = lists<arrow::ListBuilder, arrow::StringBuilder>(7);
  set_log_level(LogLevel::kError);
  std::mt19937 random(5);
  int refused = 0;
  for (Layout layout : all_layouts()) {
    SCOPED_TRACE(name_of(layout));
    const auto file = properties(layout);
    write(path_, {"image", "caption"}, {test::array_of<arrow::BinaryBuilder>(texts), captions}, 4,
          file);
    const std::string whole = read_file(path_);
    for (int i = 0; i < 60; ++i) {
      std::string damaged = whole;
      for (int flips = 0; flips < 1 + i % 3; ++flips) {
        damaged[random() % damaged.size()] = static_cast<char>(random());
      }
      test::replace_file(path_, damaged);
      const std::string error = error_of([&] {
        const auto source = open();
        std::string failures;
        for (int64_t row = 0; row < std::min<int64_t>(source->size(), 20); ++row) {
          failures += error_of([&] { source->get(row); });
        }
        CANTILEVER_CHECK(failures.empty(), failures);
      });
      refused += error.empty() ? 0 : 1;
      EXPECT_TRUE(error.empty() || error.find("rows.parquet") != std::string::npos) << error;
    }
  }
  set_log_level(LogLevel::kInfo);
  EXPECT_GT(refused, 1000);
}

// Shards that differ in string and large_string, binary and large_binary, dictionary and list kind.
TEST_F(ParquetPages, ShardsMayDifferInTypes) {
  const auto coded = arrow::DictionaryArray::FromArrays(
                         arrow::dictionary(arrow::int8(), arrow::utf8()),
                         [] {
                           arrow::Int8Builder builder;
                           require(builder.AppendValues({1, 0}));
                           return builder.Finish().ValueOrDie();
                         }(),
                         strings({"f", "e"}))
                         .ValueOrDie();
  const std::filesystem::path set = folder_ / "set";
  test::write_parquet(set / "0.parquet", {"image", "caption"},
                      {test::array_of<arrow::BinaryBuilder>({"A", "B"}), strings({"a", "b"})});
  test::write_parquet(set / "1.parquet", {"image", "caption"},
                      {test::array_of<arrow::LargeBinaryBuilder>({"C", "D"}),
                       test::array_of<arrow::LargeStringBuilder>({"c", "d"})});
  test::write_parquet(set / "2.parquet", {"caption", "image"},
                      {coded, picture_structs({"E", "F"}, {std::nullopt, "x"})});
  test::write_parquet(set / "3.parquet", {"image", "caption"},
                      {test::array_of<arrow::BinaryViewBuilder>({"G", "H"}),
                       test::array_of<arrow::StringViewBuilder>({"g", "h"})});
  const auto source = open_source(set, source_options("image"));
  ASSERT_EQ(source->size(), 8);
  std::string pictures, captions;
  for (int64_t row = 0; row < 8; ++row) {
    pictures += test::picture_of(source->get(row));
    captions += source->caption(row);
  }
  EXPECT_EQ(pictures, "ABCDEFGH");
  EXPECT_EQ(captions, "abcdefgh");
}

TEST(ParquetPageHeader, OfDamagedBytesIsNone) {
  EXPECT_FALSE(parse_page_header({}).has_value());
  const std::string nested(100, '\x1c');  // structs in structs without end
  EXPECT_FALSE(parse_page_header(std::as_bytes(std::span(nested))).has_value());
  std::mt19937 random(3);
  for (int i = 0; i < 20000; ++i) {
    std::string bytes(1 + random() % 40, '\0');
    for (char& byte : bytes) byte = static_cast<char>(random());
    const auto header = parse_page_header(std::as_bytes(std::span(bytes)));
    if (!header) continue;
    EXPECT_GE(header->compressed_bytes, 0);
    EXPECT_LE(header->header_bytes, static_cast<int64_t>(bytes.size()));
  }
}

}  // namespace
}  // namespace cantilever
