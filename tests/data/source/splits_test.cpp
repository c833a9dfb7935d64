#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cantilever/base/error.h"
#include "cantilever/data/order/sample_order.h"
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
using testing::ElementsAre;
using testing::HasSubstr;

std::vector<std::string> captions(const ExampleSource& source) {
  std::vector<std::string> all;
  for (int64_t row = 0; row < source.size(); ++row) all.push_back(source.caption(row));
  return all;
}

std::string rows(const std::vector<std::string>& captions) {
  std::string text;
  for (const std::string& caption : captions) {
    text += concat("{\"image_path\": \"a.png\", \"caption\": \"", caption, "\"}\n");
  }
  return text;
}

std::vector<std::string> numbers(int count) {
  std::vector<std::string> all;
  for (int i = 0; i < count; ++i) all.push_back(std::to_string(i));
  return all;
}

class Splits : public testing::Test {
 protected:
  std::map<std::string, std::shared_ptr<ExampleSource>> open(
      SourceOptions options = source_options()) {
    options.dataset_name = folder_.path().string();
    return open_splits(options);
  }
  void shard(const std::string& name, const std::string& caption) {
    write_parquet(folder_ / name, {"image_path", "caption"},
                  {strings({"a.png"}), strings({caption})});
  }

  test::TemporaryFolder folder_;
};

TEST_F(Splits, ShardsOfTheHubLayoutInNameOrder) {
  shard("data/train-00001-of-00002.parquet", "second");
  shard("data/train-00000-of-00002.parquet", "first");
  shard("data/validation-00000-of-00001-0a1b2c.parquet", "held");
  write_text(folder_ / "README.md", "not data");
  const auto splits = open();
  ASSERT_EQ(splits.size(), 2U);
  EXPECT_THAT(captions(*splits.at("train")), ElementsAre("first", "second"));
  EXPECT_THAT(captions(*splits.at("validation")), ElementsAre("held"));
}

TEST_F(Splits, ByFolderName) {
  write_text(folder_ / "train/x.jsonl", rows({"a", "b"}));
  write_text(folder_ / "valid/x.jsonl", rows({"c"}));
  write_text(folder_ / "testing/x.jsonl", rows({"d"}));
  write_text(folder_ / ".hidden/train/x.jsonl", rows({"no"}));
  write_text(folder_ / "__pycache__/train/x.jsonl", rows({"no"}));
  const auto splits = open();
  EXPECT_THAT(captions(*splits.at("train")), ElementsAre("a", "b"));
  EXPECT_THAT(captions(*splits.at("validation")), ElementsAre("c"));
  EXPECT_THAT(captions(*splits.at("test")), ElementsAre("d"));
}

TEST_F(Splits, ByFileName) {
  write_text(folder_ / "my-train_2017.jsonl", rows({"a"}));
  write_text(folder_ / "my.val.jsonl", rows({"b"}));
  write_text(folder_ / "constrained.jsonl", rows({"in no split: the word must stand alone"}));
  const auto splits = open();
  ASSERT_EQ(splits.size(), 2U);
  EXPECT_THAT(captions(*splits.at("train")), ElementsAre("a"));
  EXPECT_THAT(captions(*splits.at("validation")), ElementsAre("b"));
}

TEST_F(Splits, OfSeveralFormatsTheCommonestIsRead) {
  write_text(folder_ / "train/x.jsonl", rows({"from json"}));
  write_text(folder_ / "train/y.csv", "image_path,caption\na.png,from csv\n");
  EXPECT_THAT(captions(*open().at("train")), ElementsAre("from json"));
  write_text(folder_ / "train/z.csv", "image_path,caption\na.png,more csv\n");
  EXPECT_THAT(captions(*open().at("train")), ElementsAre("from csv", "more csv"));
}

TEST_F(Splits, ElseAllIsTrainAndCut) {
  write_text(folder_ / "pairs.jsonl", rows(numbers(10)));
  SourceOptions options = source_options();
  options.seed = 1;
  const auto splits = open(options);
  // datasets' train_test_split(test_size=0.4, seed=1), then (0.5, shuffle=False).
  const std::vector<int64_t> order = numpy_permutation(10, 1);
  std::vector<std::string> expected;
  for (const int64_t row : order) expected.push_back(std::to_string(row));
  const auto part = [&](int first, int last) {
    return std::vector<std::string>(expected.begin() + first, expected.begin() + last);
  };
  EXPECT_EQ(captions(*splits.at("train")), part(4, 10));
  EXPECT_EQ(captions(*splits.at("validation")), part(0, 2));
  EXPECT_EQ(captions(*splits.at("test")), part(2, 4));
}

// Rows that datasets 5.2 put into the parts of 15 rows with seed 42.
TEST_F(Splits, TheCutEqualsTheReference) {
  write_text(folder_ / "pairs.jsonl", rows(numbers(15)));
  const auto splits = open();
  EXPECT_THAT(captions(*splits.at("train")),
              ElementsAre("14", "10", "5", "2", "4", "12", "1", "13", "8"));
  EXPECT_THAT(captions(*splits.at("validation")), ElementsAre("6", "7", "9"));
  EXPECT_THAT(captions(*splits.at("test")), ElementsAre("3", "0", "11"));
}

TEST_F(Splits, SizesOfTheCutOddCounts) {
  for (const auto& [n, train, validation, test] : std::vector<std::array<int, 4>>{
           {3, 1, 1, 1}, {5, 3, 1, 1}, {64, 38, 13, 13}, {101, 60, 20, 21}}) {
    write_text(folder_ / "pairs.jsonl", rows(numbers(n)));
    const auto splits = open();
    EXPECT_EQ(splits.at("train")->size(), train) << n;
    EXPECT_EQ(splits.at("validation")->size(), validation) << n;
    EXPECT_EQ(splits.at("test")->size(), test) << n;
  }
  write_text(folder_ / "pairs.jsonl", rows(numbers(2)));
  EXPECT_EQ(open().at("train")->size(), 2);
}

TEST_F(Splits, GivenSplitsAreUsedUnlessTheScriptsRuleIsAskedFor) {
  SourceOptions options = source_options();
  options.train_file = write_text(folder_ / "t.jsonl", rows(numbers(10))).string();
  options.validation_file = write_text(folder_ / "v.csv", "caption,image_path\nv,a.png\n").string();
  auto splits = open_splits(options);
  ASSERT_EQ(splits.size(), 2U);
  EXPECT_EQ(splits.at("train")->size(), 10);
  EXPECT_THAT(captions(*splits.at("validation")), ElementsAre("v"));
  options.script_splits = true;
  splits = open_splits(options);
  EXPECT_EQ(splits.at("train")->size(), 6);
  EXPECT_EQ(splits.at("validation")->size(), 2);
  EXPECT_EQ(splits.at("test")->size(), 2);
  options.test_file = options.validation_file;
  EXPECT_EQ(open_splits(options).at("train")->size(), 10);
}

TEST_F(Splits, FoldersAsSplits) {
  write_text(folder_ / "one/rows.jsonl", rows({"a", "b"}));
  write_text(folder_ / "two/rows.jsonl", rows({"c"}));
  SourceOptions options = source_options();
  options.train_dir = (folder_ / "one").string();
  options.validation_dir = (folder_ / "two").string();
  const auto splits = open_splits(options);
  EXPECT_THAT(captions(*splits.at("train")), ElementsAre("a", "b"));
  EXPECT_THAT(captions(*splits.at("validation")), ElementsAre("c"));
}

TEST_F(Splits, DataDirAndConfiguration) {
  shard("deep/matching/train-00000-of-00001.parquet", "m");
  shard("deep/ranking/train-00000-of-00001.parquet", "r");
  SourceOptions options = source_options();
  options.data_dir = "deep";
  options.dataset_config_name = "matching";
  EXPECT_THAT(captions(*open(options).at("train")), ElementsAre("m"));
  options.dataset_config_name = "maching";
  EXPECT_THAT(error_of([&] { open(options); }), HasSubstr("maching"));
}

TEST_F(Splits, NothingGivenAndNothingThere) {
  EXPECT_THAT(error_of([] { open_splits(source_options()); }), HasSubstr("--dataset_name"));
  SourceOptions options = source_options();
  options.dataset_name = "jmhessel/newyorker_caption_contest";
  EXPECT_THAT(error_of([&] { open_splits(options); }), HasSubstr("Hub"));
  options.dataset_name.clear();
  options.train_file = (folder_ / "gone.jsonl").string();
  EXPECT_THAT(error_of([&] { open_splits(options); }),
              AllOf(HasSubstr("--train_file"), HasSubstr("gone.jsonl")));
  EXPECT_THAT(error_of([&] { open(); }), HasSubstr("Read are Parquet"));
}

TEST_F(Splits, FormatsThatAreNotReadAreNamed) {
  const std::vector<std::pair<std::string, std::string>> names = {
      {"x.tar.zst", "a tar compressed otherwise"}, {"x.zip", "zip"}, {"x.jsonl.gz", "compressed"}};
  for (const auto& [name, words] : names) {
    test::TemporaryFolder folder;
    write_text(folder / name, "content");
    SourceOptions options = source_options();
    for (const std::string& given : {folder.path().string(), (folder / name).string()}) {
      options.dataset_name = given;
      EXPECT_THAT(error_of([&] { open_splits(options); }),
                  AllOf(HasSubstr(words), HasSubstr("not read yet"), HasSubstr("Parquet")));
    }
  }
}

TEST(Selection, FirstRowsAndChosenRows) {
  test::TemporaryFolder folder;
  const auto source =
      open_source(write_text(folder / "r.jsonl", rows(numbers(5))), source_options());
  EXPECT_THAT(captions(*take_first(source, 2)), ElementsAre("0", "1"));
  EXPECT_EQ(take_first(source, 9)->size(), 5);
  EXPECT_THAT(captions(*select_rows(source, {4, 0, 4})), ElementsAre("4", "0", "4"));
  // Where a person finds a row stays that of the file, however rows were picked.
  EXPECT_EQ(select_rows(source, {4, 0})->place(0), source->place(4));
  EXPECT_THAT(source->place(4), AllOf(HasSubstr("r.jsonl"), HasSubstr("line 5")));
  EXPECT_THROW(select_rows(source, {5}), Error);
  EXPECT_THROW(take_first(source, -1), Error);
  EXPECT_THROW(take_first(source, 2)->caption(2), Error);
}

}  // namespace
}  // namespace cantilever
