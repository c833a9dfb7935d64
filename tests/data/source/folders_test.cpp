// What is found in folders: configurations of README.md, metadata above splits, class folders,
// patterns, columns.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cantilever/base/error.h"
#include "cantilever/base/log.h"
#include "cantilever/data/source/dataset_card.h"
#include "cantilever/data/source/file_patterns.h"
#include "tests/data/source/parquet_files.h"
#include "tests/data/source/table_files.h"

namespace cantilever {
namespace {

using test::error_of;
using test::source_options;
using test::write_text;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Pair;

using Splits = std::map<std::string, std::shared_ptr<ExampleSource>>;

std::string row(const std::string& caption) {
  return "{\"image_path\": \"a.png\", \"caption\": \"" + caption + "\"}\n";
}

class Folders : public testing::Test {
 protected:
  void SetUp() override { set_log_level(LogLevel::kError); }
  void TearDown() override { set_log_level(LogLevel::kInfo); }

  Splits open(SourceOptions options = source_options()) {
    options.dataset_name = folder_.path().string();
    return open_splits(options);
  }
  static std::vector<std::string> captions(const ExampleSource& source) {
    std::vector<std::string> all;
    for (int64_t i = 0; i < source.size(); ++i) all.push_back(source.caption(i));
    return all;
  }

  test::TemporaryFolder folder_;
};

TEST_F(Folders, ConfigurationsOfTheReadme) {
  write_text(folder_ / "README.md",
             "---\nlicense: mit\nconfigs:\n- config_name: one\n  data_files:\n"
             "  - split: train\n    path: a/tr-*.jsonl  # a comment\n  - split: test\n    path:\n"
             "    - \"a/x.jsonl\"\n    - 'b/**'\n- config_name: two\n  default: true\n"
             "  data_files: b/y.jsonl\n- config_name: three\n  data_dir: c\n"
             "tags:\n- x\n---\n# Words\nconfigs:\n- config_name: no\n");
  write_text(folder_ / "a/tr-2.jsonl", row("tr-2"));
  write_text(folder_ / "a/tr-1.jsonl", row("tr-1"));
  write_text(folder_ / "a/x.jsonl", row("x"));
  write_text(folder_ / "b/y.jsonl", row("y"));
  write_text(folder_ / "b/deep/z.jsonl", row("z"));
  write_text(folder_ / "c/train/c.jsonl", row("c"));
  write_text(folder_ / "c/validation/v.jsonl", row("v"));
  SourceOptions options = source_options();
  EXPECT_THAT(captions(*open(options).at("train")), ElementsAre("y"));
  options.dataset_config_name = "one";
  Splits splits = open(options);
  EXPECT_EQ(splits.size(), 2U);
  EXPECT_THAT(captions(*splits.at("train")), ElementsAre("tr-1", "tr-2"));
  EXPECT_THAT(captions(*splits.at("test")), ElementsAre("x", "z", "y"));
  options.dataset_config_name = "three";
  splits = open(options);
  EXPECT_THAT(captions(*splits.at("train")), ElementsAre("c"));
  EXPECT_THAT(captions(*splits.at("validation")), ElementsAre("v"));
  for (const std::string elsewhere : {"../", "c/../..", "/etc"}) {
    write_text(folder_ / "README.md",
               "---\nconfigs:\n- config_name: four\n  data_dir: " + elsewhere + "\n---\n");
    options.dataset_config_name = "four";
    EXPECT_THAT(error_of([&] { open(options); }), HasSubstr("lies outside the set"));
  }
  write_text(folder_ / "README.md", "---\nconfigs:\n- config_name: one\n  data_dir: c\n---\n");
  EXPECT_THAT(error_of([&] { open(options); }), AllOf(HasSubstr("four"), HasSubstr("README.md")));
}

TEST_F(Folders, ConfigurationsThatFitNothing) {
  write_text(folder_ / "x.jsonl", row("x"));
  write_text(folder_ / "README.md",
             "---\nconfigs:\n- config_name: a\n  data_files: no/*.jsonl\n---\n");
  EXPECT_THAT(error_of([&] { open(); }),
              AllOf(HasSubstr("README.md"), HasSubstr("'no/*.jsonl'"), HasSubstr("fits no file")));
  write_text(folder_ / "README.md",
             "---\nconfigs:\n- config_name: a\n  data_files: x.jsonl\n- config_name: b\n"
             "  data_files: x.jsonl\n---\n");
  EXPECT_THAT(error_of([&] { open(); }),
              AllOf(HasSubstr("a, b"), HasSubstr("--dataset_config_name")));
  for (const std::string text : {"configs: &anchor\n- a\n", "configs:\n  data_files: |\n    x\n",
                                 "configs:\n- config_name: [[a]]\n", "configs:\n- a\n",
                                 "configs:\n- config_name: a\n     indented: too\n",
                                 "configs: text\n", "configs:\n- data_files:\n  - path: []\n"}) {
    write_text(folder_ / "README.md", "---\n" + text + "---\n");
    EXPECT_THAT(error_of([&] { open(); }), HasSubstr("README.md")) << text;
  }
  // Without configurations README.md says nothing.
  for (const std::string text :
       {"# Title\n", "---\nlicense: mit\n---\n", "---\nconfigs:\n---\n", ""}) {
    write_text(folder_ / "README.md", text);
    EXPECT_THAT(captions(*open().at("train")), ElementsAre("x"));
  }
}

TEST(DatasetCard, ReadsTheSimplePartOfYaml) {
  const auto configs = parse_card_configs(
      "---\r\nconfigs:\r\n  - config_name: \"a b\"\r\n    data_files:\r\n"
      "      train: [x.csv, 'y.csv']\r\n      test: z.csv\r\n    drop_labels: true\r\n"
      "  - default: True\r\n    data_dir: d\r\n---\r\n",
      "README.md");
  ASSERT_EQ(configs.size(), 2U);
  EXPECT_EQ(configs[0].name, "a b");
  EXPECT_THAT(configs[0].data_files, ElementsAre(Pair("train", ElementsAre("x.csv", "y.csv")),
                                                 Pair("test", ElementsAre("z.csv"))));
  EXPECT_THAT(configs[0].unknown_keys, ElementsAre("drop_labels"));
  EXPECT_EQ(configs[1].name, "default");
  EXPECT_TRUE(configs[1].is_default);
  EXPECT_EQ(configs[1].data_dir, "d");
  std::string deep = "---\nconfigs:\n";
  for (int i = 0; i < 200; ++i) deep += std::string(static_cast<size_t>(i), ' ') + "- \n";
  EXPECT_THROW(parse_card_configs(deep + "---\n", "README.md"), Error);
}

TEST(FilePatterns, FitAsInAShell) {
  EXPECT_TRUE(fits_pattern("data/train-0.parquet", "data/train-*"));
  EXPECT_TRUE(fits_pattern("data/train-0.parquet", "./data/*.parquet"));
  EXPECT_FALSE(fits_pattern("data/deep/x.parquet", "data/*.parquet"));
  EXPECT_TRUE(fits_pattern("data/deep/x.parquet", "data/**/*.parquet"));
  EXPECT_TRUE(fits_pattern("data/x.parquet", "data/**/*.parquet"));
  EXPECT_TRUE(fits_pattern("a/b/c", "**"));
  EXPECT_TRUE(fits_pattern("a/b/c", "a/**"));
  EXPECT_FALSE(fits_pattern("b/c", "a/**"));
  EXPECT_TRUE(fits_pattern("x7.csv", "x[0-9].csv"));
  EXPECT_FALSE(fits_pattern("x7.csv", "x[!0-9].csv"));
  EXPECT_TRUE(fits_pattern("x[.csv", "x[.csv"));
  EXPECT_TRUE(fits_pattern("abc", "a?c"));
  EXPECT_FALSE(fits_pattern("abc", "ab"));
  const std::string name(3000, 'a');
  std::string pattern;
  for (int i = 0; i < 500; ++i) pattern += "a*";
  EXPECT_FALSE(fits_pattern(name, pattern + "b"));  // not in exponential time
  EXPECT_THAT(expand_braces("x{08..10}y"), ElementsAre("x08y", "x09y", "x10y"));
  EXPECT_THAT(expand_braces("x{10..8}::z"), ElementsAre("x10", "x9", "x8", "z"));
  EXPECT_THAT(expand_braces("{a,b}{1..2}"), ElementsAre("a1", "a2", "b1", "b2"));
  EXPECT_THAT(expand_braces("{}{x}{a..b}{"), ElementsAre("{}{x}{a..b}{"));
  EXPECT_THROW(expand_braces("{0..99999999}"), Error);
  EXPECT_THROW(expand_braces("{0..999}{0..999}{0..999}"), Error);
}

TEST_F(Folders, MetadataAboveTheFoldersOfSplits) {
  write_text(folder_ / "train/1.jpg", "one");
  write_text(folder_ / "train/2.jpg", "two");
  write_text(folder_ / "test/3.jpg", "three");
  write_text(folder_ / "metadata.jsonl",
             "{\"file_name\": \"train/2.jpg\", \"text\": \"second\"}\n"
             "{\"file_name\": \"test/3.jpg\", \"text\": \"third\"}\n"
             "{\"file_name\": \"train/1.jpg\", \"text\": \"first\"}\n");
  const auto splits = open(source_options("image", "text"));
  ASSERT_EQ(splits.size(), 2U);
  EXPECT_THAT(captions(*splits.at("train")), ElementsAre("second", "first"));
  EXPECT_THAT(captions(*splits.at("test")), ElementsAre("third"));
  const Example example = splits.at("train")->get(1);
  EXPECT_EQ(test::picture_of(example), "one");
  EXPECT_EQ(example.image_kind, ImageKind::kImageFeature);
}

TEST_F(Folders, NamesOfFoldersAsCaptionsOnlyWhenAskedFor) {
  for (const std::string file : {"train/great_dane/1.jpg", "train/cat/2.PNG", "test/cat/3.jpg"}) {
    write_text(folder_ / file, file);
  }
  EXPECT_THAT(error_of([&] { open(); }),
              AllOf(HasSubstr("no captions"), HasSubstr("cat, great_dane"),
                    HasSubstr("--caption_column label"), HasSubstr("metadata.jsonl")));
  const auto splits = open(source_options("image", "label"));
  ASSERT_EQ(splits.size(), 2U);
  EXPECT_THAT(captions(*splits.at("train")), ElementsAre("cat", "great dane"));
  EXPECT_THAT(captions(*splits.at("test")), ElementsAre("cat"));
  const Example example = splits.at("train")->get(1);
  EXPECT_EQ(test::picture_of(example), "train/great_dane/1.jpg");
  EXPECT_EQ(example.image_kind, ImageKind::kImageFeature);
  EXPECT_THAT(error_of([&] { open(source_options("picture", "label")); }),
              HasSubstr("no column 'picture'"));
  write_text(folder_ / "flat/1.jpg", "x");
  const auto flat = open_source(folder_ / "flat", source_options("image", "label"));
  EXPECT_THAT(error_of([&] { flat->get(0); }), HasSubstr("no folder"));
}

// Captions beside their pictures are no tables, whatever commas stand in them.
TEST_F(Folders, ManyTextFilesAreNoTables) {
  for (int i = 0; i < 20; ++i) {
    write_text(folder_ / concat(i, ".jpg"), "picture");
    write_text(folder_ / concat(i, ".txt"), "a caption, with a comma");
  }
  EXPECT_THAT(error_of([&] { open(); }),
              AllOf(HasSubstr("20 pictures"), HasSubstr("no captions"), HasSubstr("WebDataset")));
}

TEST_F(Folders, ColumnsAreDescribed) {
  const auto names = [&](SourceOptions options) {
    std::string text;
    for (const ColumnInfo& column : describe_columns(options)) {
      text += column.name + ":" + column.type + " ";
    }
    return text;
  };
  SourceOptions options = source_options("no such", "column");
  options.dataset_name = write_text(folder_ / "a.csv", "x,y\n1,2\n").string();
  EXPECT_EQ(names(options), "x:text y:text ");
  options.dataset_name =
      write_text(folder_ / "a.jsonl", "{\"x\": [\"a\"], \"y\": 1}\n{\"y\": null}\n").string();
  EXPECT_EQ(names(options), "x:list of strings y:int ");
  test::write_parquet(folder_ / "p/train-0.parquet", {"image", "n"},
                      {test::picture_structs({"b"}, {"p"}), test::strings({"c"})});
  options.dataset_name = (folder_ / "p").string();
  EXPECT_EQ(names(options), "image:struct<bytes: binary, path: string> n:string ");
  options.dataset_name.clear();
  options.train_dir = (folder_ / "p").string();
  EXPECT_EQ(names(options), "image:struct<bytes: binary, path: string> n:string ");
  options.train_dir.clear();
  EXPECT_THROW(names(options), Error);
  options.dataset_name = (folder_ / "gone").string();
  EXPECT_THROW(names(options), Error);
}

TEST_F(Folders, TheImageRootMustBeAFolder) {
  write_text(folder_ / "x.jsonl", row("x"));
  SourceOptions options = source_options();
  options.image_root = (folder_ / "gone").string();
  EXPECT_THAT(error_of([&] { open(options); }), HasSubstr("--image_root"));
}

}  // namespace
}  // namespace cantilever
