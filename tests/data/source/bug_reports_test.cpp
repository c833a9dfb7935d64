// Complaints of users of other tools, with the answers given here; the numbers are those of the
// project's list of public reports.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cantilever/base/error.h"
#include "tests/data/source/parquet_files.h"
#include "tests/data/source/table_files.h"

namespace cantilever {
namespace {

using test::error_of;
using test::source_options;
using test::strings;
using test::write_parquet;
using test::write_text;
using testing::AllOf;
using testing::HasSubstr;

TEST(BugReports, R11WordsThatLookLikeMissingValuesStayText) {
  test::TemporaryFolder folder;
  const std::vector<std::string> words = {"None", "null", "NA",   "nan",  "N/A",
                                          "1e5",  "007",  "true", "-inf", "#N/A"};
  std::string table = "image_path,caption\n";
  for (const std::string& word : words) table += concat("a.png,", word, "\n");
  const auto source = open_source(write_text(folder / "rows.csv", table), source_options());
  ASSERT_EQ(source->size(), static_cast<int64_t>(words.size()));
  for (size_t i = 0; i < words.size(); ++i) {
    EXPECT_EQ(source->caption(static_cast<int64_t>(i)), words[i]);
  }
}

TEST(BugReports, R12MetadataOneLevelTooDeepNamesBothPaths) {
  test::TemporaryFolder folder;
  write_text(folder / "pictures/1.jpg", "picture");
  write_text(folder / "pictures/meta/metadata.jsonl",
             "{\"file_name\": \"1.jpg\", \"text\": \"c\"}\n");
  const auto source = open_source(folder.path(), source_options("image", "text"));
  EXPECT_THAT(error_of([&] { source->get(0); }),
              AllOf(HasSubstr((folder / "pictures/meta/metadata.jsonl").string()),
                    HasSubstr((folder / "pictures/meta/1.jpg").string()), HasSubstr("line 1")));
}

TEST(BugReports, R13RootAndTrainFolderGiveTheSame) {
  test::TemporaryFolder folder;
  write_text(folder / "train/1.jpg", "one");
  write_text(folder / "train/2.jpg", "two");
  write_text(folder / "train/metadata.csv",
             "file_name,text\n2.jpg,second\n1.jpg,first\n3.jpg,third\n");
  SourceOptions options = source_options("image", "text");
  for (const std::string& name : {folder.path().string(), (folder / "train").string()}) {
    options.dataset_name = name;
    const auto splits = open_splits(options);
    // Three rows without validation or test: cut, so look at all parts together.
    int64_t total = 0;
    for (const auto& [split, source] : splits) total += source->size();
    EXPECT_EQ(total, 3);
    const auto whole = open_source(name, options);
    ASSERT_EQ(whole->size(), 3);
    const Example example = whole->get(0);
    EXPECT_EQ(example.caption, "second");
    EXPECT_EQ(test::picture_of(example), "two");
    EXPECT_EQ(example.image_kind, ImageKind::kImageFeature);
  }
}

// The part of R14 that a quick test can hold: several shards with several row groups, in any order.
TEST(BugReports, R14RandomAccessOverShards) {
  test::TemporaryFolder folder;
  const int shards = 3;
  const int rows = 50;
  for (int shard = 0; shard < shards; ++shard) {
    test::Texts bytes;
    test::Texts captions;
    for (int row = 0; row < rows; ++row) {
      bytes.emplace_back(concat("picture ", shard * rows + row, std::string(1000, 'x')));
      captions.emplace_back(concat("caption ", shard * rows + row));
    }
    write_parquet(folder / concat("train-", shard, ".parquet"), {"image", "caption"},
                  {test::array_of<arrow::BinaryBuilder>(bytes), strings(captions)}, 8);
  }
  const auto source = open_source(folder.path(), source_options("image"));
  ASSERT_EQ(source->size(), shards * rows);
  for (int i = 0; i < shards * rows; ++i) {
    const int row = i * 37 % (shards * rows);
    const Example example = source->get(row);
    EXPECT_EQ(example.row, row);
    EXPECT_EQ(example.caption, concat("caption ", row));
    EXPECT_EQ(test::picture_of(example), concat("picture ", row, std::string(1000, 'x')));
  }
}

TEST(BugReports, R15ShardsWithStringAndLargeString) {
  test::TemporaryFolder folder;
  write_text(folder / "a.png", "picture");
  write_parquet(folder / "a.parquet", {"image_path", "caption"},
                {strings({"a.png"}), strings({"from string"})});
  write_parquet(folder / "b.parquet", {"image_path", "caption"},
                {test::array_of<arrow::LargeStringBuilder>({"a.png"}),
                 test::array_of<arrow::LargeStringBuilder>({"from large_string"})});
  const auto source = open_source(folder.path(), source_options());
  ASSERT_EQ(source->size(), 2);
  EXPECT_EQ(source->get(0).caption, "from string");
  EXPECT_EQ(source->get(1).caption, "from large_string");
  EXPECT_EQ(test::picture_of(source->get(1)), "picture");
}

TEST(BugReports, R16CaptionsWithCommasQuotesAndLineBreaks) {
  test::TemporaryFolder folder;
  std::vector<std::string> captions;
  std::string table = "file_name,text\r\n";
  for (int i = 0; i < 16; ++i) {
    const std::string name = concat(i, ".png");
    write_text(folder / name, concat("picture ", i));
    captions.push_back(concat("number ", i, i % 2 == 0 ? ", with \"quotes\"" : "",
                              i % 3 == 0 ? ",\n" : "", "end"));
    std::string field;
    for (const char byte : captions.back()) field += byte == '"' ? "\"\"" : std::string(1, byte);
    table += concat(name, ",\"", field, "\"\r\n");
  }
  write_text(folder / "metadata.csv", table);
  const auto source = open_source(folder.path(), source_options("image", "text"));
  ASSERT_EQ(source->size(), 16);
  for (int i = 0; i < 16; ++i) {
    EXPECT_EQ(source->get(i).caption, captions[static_cast<size_t>(i)]);
    EXPECT_EQ(test::picture_of(source->get(i)), concat("picture ", i));
  }
}

TEST(BugReports, R17AMissingColumnIsExplained) {
  test::TemporaryFolder folder;
  const auto path = folder / "rows.parquet";
  write_parquet(path, {"image", "Caption"}, {test::picture_structs({"b"}, {"p"}), strings({"c"})});
  EXPECT_THAT(
      error_of([&] { open_source(path, source_options("image")); }),
      AllOf(HasSubstr(path.string()), HasSubstr("no column 'caption'"),
            HasSubstr("image (struct<bytes: binary, path: string>)"), HasSubstr("Caption (string)"),
            HasSubstr("did you mean 'Caption'"), HasSubstr("--caption_column Caption")));
  EXPECT_THAT(error_of([&] { open_source(path, source_options("picture")); }),
              AllOf(HasSubstr("no column 'picture'"), HasSubstr("pass --image_column image")));
  EXPECT_THAT(error_of([&] { open_source(path, source_options()); }),
              HasSubstr("--image_column image"));
  write_text(folder / "set/1.jpg", "picture");
  write_text(folder / "set/metadata.csv", "file_name,text\n1.jpg,c\n");
  EXPECT_THAT(error_of([&] { open_source(folder / "set", source_options()); }),
              AllOf(HasSubstr("metadata.csv"), HasSubstr("image (text), text (text)"),
                    HasSubstr("--image_column image")));
}

// R40 names the files of a clone without Git LFS for weights; data sets have the same trap.
TEST(BugReports, R40GitLfsPointersAreNamed) {
  test::TemporaryFolder folder;
  const std::string pointer =
      "version https://git-lfs.github.com/spec/v1\n"
      "oid sha256:4665a5ea423c2713d436b5ee50593a9640e0018c1550b5a0002f74190d6caea8\n"
      "size 12345\n";
  for (const std::string name : {"x.parquet", "x.jsonl", "x.csv"}) {
    const auto path = write_text(folder / name, pointer);
    EXPECT_THAT(error_of([&] { open_source(path, source_options()); }),
                AllOf(HasSubstr(name), HasSubstr("LFS pointer")));
  }
}

}  // namespace
}  // namespace cantilever
