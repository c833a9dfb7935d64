#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>

#include "cantilever/base/error.h"
#include "cantilever/base/file.h"
#include "cantilever/base/log.h"
#include "tests/data/source/mapped_files.h"
#include "tests/data/source/parquet_files.h"
#include "tests/data/source/table_files.h"

namespace cantilever {
namespace {

using test::error_of;
using test::picture_structs;
using test::source_options;
using test::strings;
using test::Texts;
using test::write_parquet;
using test::write_text;
using testing::AllOf;
using testing::HasSubstr;

const char* const kImageMetadata =
    R"({"info": {"features": {"image": {"_type": "Image"}, "caption": {"_type": "Value"}}}})";

Texts numbered(const std::string& prefix, int count) {
  Texts values;
  for (int i = 0; i < count; ++i) values.emplace_back(prefix + std::to_string(i));
  return values;
}

class ParquetSource : public testing::Test {
 protected:
  std::shared_ptr<ExampleSource> open(const std::string& image_column = "image") {
    return open_source(path_, source_options(image_column));
  }

  test::TemporaryFolder folder_;
  const std::filesystem::path path_ = folder_ / "rows.parquet";
};

TEST_F(ParquetSource, StructsInSeveralRowGroups) {
  write_parquet(path_, {"image", "caption"},
                {picture_structs(numbered("bytes ", 25), numbered("p", 25)),
                 strings(numbered("caption ", 25))},
                7);
  const auto source = open();
  ASSERT_EQ(source->size(), 25);
  for (int row : {24, 0, 6, 7, 13, 14, 20, 21}) {
    const Example example = source->get(row);
    EXPECT_EQ(example.row, row);
    EXPECT_EQ(test::picture_of(example), concat("bytes ", row));
    EXPECT_EQ(example.caption, concat("caption ", row));
    EXPECT_EQ(example.image_path, concat("p", row));
    EXPECT_EQ(example.image_kind, ImageKind::kBytes);
    EXPECT_EQ(source->caption(row), example.caption);
  }
  EXPECT_THROW(source->get(25), Error);
}

TEST_F(ParquetSource, MetadataOfDatasetsMakeAnImageFeature) {
  write_text(folder_ / "a.png", "from the path");
  write_parquet(
      path_, {"image", "caption"},
      {picture_structs({"x", std::nullopt}, {std::nullopt, "a.png"}), strings({"c", "d"})}, 10,
      kImageMetadata);
  const auto source = open();
  EXPECT_EQ(source->get(0).image_kind, ImageKind::kImageFeature);
  EXPECT_EQ(source->get(1).image_kind, ImageKind::kImageFeature);
  EXPECT_EQ(test::picture_of(source->get(1)), "from the path");
  write_parquet(path_, {"image", "caption"}, {strings({"a.png"}), strings({"c"})}, 10,
                kImageMetadata);
  EXPECT_EQ(open()->get(0).image_kind, ImageKind::kImageFeature);
  write_parquet(path_, {"image", "caption"}, {strings({"a.png"}), strings({"c"})}, 10, "{broken");
  EXPECT_EQ(open()->get(0).image_kind, ImageKind::kPath);
}

TEST_F(ParquetSource, BytesAndPathsWithoutStruct) {
  write_text(folder_ / "a.png", "picture a");
  write_parquet(
      path_, {"image", "image_path", "caption"},
      {test::array_of<arrow::BinaryBuilder>({"raw"}), strings({"a.png"}), strings({"c"})});
  EXPECT_EQ(open("image")->get(0).image_kind, ImageKind::kBytes);
  EXPECT_EQ(test::picture_of(open("image")->get(0)), "raw");
  EXPECT_EQ(open("image_path")->get(0).image_kind, ImageKind::kPath);
  EXPECT_EQ(test::picture_of(open("image_path")->get(0)), "picture a");
}

TEST_F(ParquetSource, LargeTypesAndDictionaries) {
  const auto dictionary = arrow::DictionaryArray::FromArrays(
                              arrow::dictionary(arrow::int8(), arrow::utf8()),
                              [] {
                                arrow::Int8Builder builder;
                                test::require(builder.AppendValues({1, 0, 1}));
                                return builder.Finish().ValueOrDie();
                              }(),
                              strings({"zero", "one"}))
                              .ValueOrDie();
  write_parquet(path_, {"image", "caption"},
                {test::array_of<arrow::LargeBinaryBuilder>({"a", "b", "c"}), dictionary});
  EXPECT_EQ(open()->get(2).caption, "one");
  EXPECT_EQ(test::picture_of(open()->get(2)), "c");
  write_parquet(path_, {"image", "caption"},
                {test::array_of<arrow::LargeBinaryBuilder>({"a"}),
                 test::array_of<arrow::LargeStringBuilder>({"large"})});
  EXPECT_EQ(open()->get(0).caption, "large");
}

TEST_F(ParquetSource, NullsAreErrorsOfTheirRows) {
  write_parquet(path_, {"image", "caption"},
                {picture_structs({"a", std::nullopt, "c", std::nullopt},
                                 {"p", std::nullopt, "p", "gone.png"}),
                 strings({std::nullopt, "b", "", "d"})});
  const auto source = open();
  EXPECT_THAT(error_of([&] { source->get(0); }), AllOf(HasSubstr("row 0"), HasSubstr("null")));
  EXPECT_THAT(error_of([&] { source->get(1); }),
              AllOf(HasSubstr("row 1"), HasSubstr("neither bytes nor a path")));
  EXPECT_EQ(source->get(2).caption, "");
  EXPECT_THAT(error_of([&] { source->get(3); }), AllOf(HasSubstr("row 3"), HasSubstr("gone.png")));
}

TEST_F(ParquetSource, ColumnsThatCannotServeAreRefusedAtOnce) {
  arrow::Int64Builder numbers;
  test::require(numbers.Append(1));
  const auto number = numbers.Finish().ValueOrDie();
  write_parquet(path_, {"image", "caption"}, {picture_structs({"a"}, {"p"}), number});
  EXPECT_THAT(error_of([&] { open(); }), HasSubstr("'caption' holds int64"));
  write_parquet(path_, {"image", "caption"}, {number, strings({"c"})});
  EXPECT_THAT(error_of([&] { open(); }), HasSubstr("'image' holds int64"));
  write_parquet(path_, {"image", "caption"},
                {picture_structs({"a"}, {"p"}), picture_structs({"a"}, {"p"})});
  EXPECT_THAT(error_of([&] { open(); }), HasSubstr("'caption' holds struct"));
}

TEST_F(ParquetSource, ThePictureOutlivesTheSource) {
  write_parquet(path_, {"image", "caption"},
                {test::array_of<arrow::BinaryBuilder>({std::string(100000, 'x')}), strings({"c"})});
  Example example;
  {
    const auto source = open();
    example = source->get(0);
  }
  std::filesystem::remove(path_);
  EXPECT_EQ(test::picture_of(example), std::string(100000, 'x'));
}

TEST_F(ParquetSource, SeveralThreadsReadAtOnce) {
  write_parquet(path_, {"image", "caption"},
                {picture_structs(numbered("bytes ", 64), numbered("p", 64)),
                 strings(numbered("caption ", 64))},
                4);
  const auto source = open();
  std::atomic<int> right{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 64; ++i) {
        const int row = (i * 7 + t) % 64;
        const Example example = source->get(row);
        right += test::picture_of(example) == concat("bytes ", row) ? 1 : 0;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(right, 4 * 64);
}

TEST_F(ParquetSource, CutOffFilesAreNamed) {
  write_parquet(
      path_, {"image", "caption"},
      {picture_structs(numbered("bytes ", 9), numbered("p", 9)), strings(numbered("caption ", 9))});
  const std::string whole = read_file(path_);
  for (size_t size = 0; size < whole.size(); size += 7) {
    test::replace_file(path_, whole.substr(0, size));
    EXPECT_THAT(error_of([&] { open(); }), HasSubstr("rows.parquet")) << size;
  }
  write_text(path_, whole.substr(0, whole.size() / 2));
  EXPECT_THAT(error_of([&] { open(); }), AllOf(HasSubstr("incomplete"), HasSubstr("bytes")));
}

TEST_F(ParquetSource, ChecksumsOfPagesAreChecked) {
  write_parquet(path_, {"image", "caption"},
                {test::array_of<arrow::BinaryBuilder>({"a"}), strings({"the caption"})}, 10, "",
                true);
  std::string content = read_file(path_);
  const size_t at = content.find("the caption");
  ASSERT_NE(at, std::string::npos);
  content[at] = 'T';
  write_text(path_, content);
  const auto source = open();
  EXPECT_THAT(error_of([&] { source->get(0); }),
              AllOf(HasSubstr("rows.parquet"), HasSubstr("CRC")));
}

// Bytes of a file changed in turn: the rows come, or an Error that names the file.
TEST_F(ParquetSource, DamagedFilesNeverCrash) {
  write_parquet(
      path_, {"image", "caption"},
      {picture_structs(numbered("bytes ", 9), numbered("p", 9)), strings(numbered("caption ", 9))},
      4, kImageMetadata);
  const std::string whole = read_file(path_);
  int refused = 0;
  set_log_level(LogLevel::kError);
  for (size_t at = 0; at < whole.size(); at += 2) {
    std::string damaged = whole;
    damaged[at] = static_cast<char>(damaged[at] ^ (at % 3 == 0 ? 0xff : at % 3 == 1 ? 0x01 : 0x80));
    test::replace_file(path_, damaged);
    const std::string error = error_of([&] {
      const auto source = open();
      for (int64_t row = 0; row < std::min<int64_t>(source->size(), 100); ++row) source->get(row);
    });
    if (error.empty()) continue;
    ++refused;
    EXPECT_THAT(error, HasSubstr("rows.parquet"));
  }
  set_log_level(LogLevel::kInfo);
  EXPECT_GT(refused, 0);
}

}  // namespace
}  // namespace cantilever
