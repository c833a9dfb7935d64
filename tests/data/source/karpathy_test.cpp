#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cantilever/base/error.h"
#include "cantilever/base/log.h"
#include "tests/data/source/table_files.h"

namespace cantilever {
namespace {

using test::error_of;
using test::source_options;
using test::write_text;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

std::string sentence(const std::string& raw) {
  return R"({"tokens": ["a"], "raw": ")" + raw + R"(", "imgid": 0, "sentid": 1})";
}

std::string image(const std::string& name, const std::string& split, const std::string& sentences,
                  const std::string& folder = "val2014") {
  return R"({"filepath": ")" + folder + R"(", "sentids": [1], "filename": ")" + name +
         R"(.jpg", "imgid": 0, "split": ")" + split + R"(", "sentences": [)" + sentences +
         R"(], "cocoid": 1})";
}

std::string file_of(const std::string& images) {
  return R"({"images": [)" + images + R"(], "dataset": "coco"})";
}

class Karpathy : public testing::Test {
 protected:
  void SetUp() override {
    set_log_level(LogLevel::kError);
    for (const std::string name : {"a", "b", "c", "d"}) {
      write_text(folder_ / "coco/images/val2014" / (name + ".jpg"), name);
    }
  }
  void TearDown() override { set_log_level(LogLevel::kInfo); }

  std::filesystem::path write(const std::string& content) {
    return write_text(folder_ / "coco/dataset_coco.json", content);
  }
  static std::string four() {
    return file_of(image("a", "test", sentence("of \\\"a\\\"") + ", " + sentence("second of a")) +
                   ",\n" + image("b", "restval", sentence("of b")) + "," +
                   image("c", "train", sentence("of c")) + "," + image("d", "val", sentence("d")));
  }
  static std::vector<std::string> rows(const ExampleSource& source, uint64_t draw = 0) {
    std::vector<std::string> all;
    Example example;
    for (int64_t row = 0; row < source.size(); ++row) {
      source.read(row, draw, example);
      all.push_back(test::picture_of(example) + ": " + example.caption);
    }
    return all;
  }

  test::TemporaryFolder folder_;
};

TEST_F(Karpathy, SplitsAreThoseOfTheFile) {
  const auto path = write(four());
  SourceOptions options = source_options();
  for (const auto& named : {path, folder_ / "coco"}) {
    options.dataset_name = named.string();
    const auto splits = open_splits(options);
    ASSERT_EQ(splits.size(), 3U);
    EXPECT_THAT(rows(*splits.at("train")), ElementsAre("b: of b", "c: of c"));
    EXPECT_THAT(rows(*splits.at("validation")), ElementsAre("d: d"));
    EXPECT_THAT(rows(*splits.at("test")), ElementsAre("a: of \"a\"", "a: second of a"));
    // One split is all of it.
    EXPECT_EQ(open_source(named, source_options())->size(), 5);
  }
  options.caption_choice = CaptionChoice::kRandom;
  const auto test_split = open_splits(options).at("test");
  EXPECT_THAT(rows(*test_split, 1), ElementsAre("a: second of a"));
  EXPECT_EQ(test_split->caption_count(0), 2);
}

// Nothing of the test split slips into training when the file is named for a split.
TEST_F(Karpathy, AFileNamedForASplitGivesThatSplit) {
  SourceOptions options = source_options();
  options.train_file = options.test_file = write(four()).string();
  const auto splits = open_splits(options);
  EXPECT_THAT(rows(*splits.at("train")), ElementsAre("b: of b", "c: of c"));
  EXPECT_EQ(splits.at("test")->size(), 2);
  EXPECT_NE(splits.at("train")->fingerprint(), splits.at("test")->fingerprint());
}

TEST_F(Karpathy, FlickrHasNoFolder) {
  write_text(folder_ / "f30k/flickr30k-images/7.jpg", "seven");
  const auto path = write_text(
      folder_ / "f30k/dataset_flickr30k.json",
      R"({"images": [{"sentids": [0], "imgid": 0, "sentences": [)" + sentence("of seven") +
          R"(], "split": "train", "filename": "7.jpg"}], "dataset": "flickr30k"})");
  EXPECT_THAT(rows(*open_source(path, source_options())), ElementsAre("seven: of seven"));
}

TEST_F(Karpathy, WhatIsDamagedIsNamed) {
  const auto refuse = [&](const std::string& content) {
    SourceOptions options = source_options();
    options.dataset_name = write(content).string();
    return error_of([&] { open_splits(options); });
  };
  EXPECT_THAT(refuse(file_of(image("a", "dev", sentence("x")))),
              AllOf(HasSubstr("dataset_coco.json"), HasSubstr("'dev'"), HasSubstr("restval")));
  EXPECT_THAT(refuse(file_of(image("a", "val", ""))), HasSubstr("no rows of split validation"));
  const std::string good = four();
  EXPECT_THAT(refuse(good.substr(0, good.size() - 40)), HasSubstr("cut off"));
  EXPECT_THAT(refuse(file_of(image("a", "train", sentence("x")) + ", 7")),
              HasSubstr("no JSON object"));
  EXPECT_THAT(refuse(file_of(R"({"sentids": [1], "split": "val", "filename": "a.jpg"})")),
              HasSubstr("'sentences'"));
  // A bad sentence is a bad row.
  const auto source = open_source(
      write(file_of(image("a", "train", R"({"raw": 7}, )" + sentence("x")))), source_options());
  EXPECT_THAT(error_of([&] { source->get(0); }), HasSubstr("no text 'raw'"));
  EXPECT_EQ(source->get(1).caption, "x");
  // Nor does a name lead out of the folder.
  write_text(folder_ / "secret.jpg", "secret");
  const auto out = open_source(write(file_of(image("secret", "train", sentence("x"), "../.."))),
                               source_options());
  EXPECT_THAT(error_of([&] { out->get(0); }), HasSubstr("outside"));
}

TEST_F(Karpathy, SeveralFilesAreNotGuessedAmong) {
  write(four());
  write_text(folder_ / "coco/dataset_flickr8k.json", four());
  SourceOptions options = source_options();
  options.dataset_name = (folder_ / "coco").string();
  EXPECT_THAT(error_of([&] { open_splits(options); }),
              AllOf(HasSubstr("dataset_coco.json"), HasSubstr("dataset_flickr8k.json")));
}

}  // namespace
}  // namespace cantilever
