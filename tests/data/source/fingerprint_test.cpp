// What may not be mixed in a cache on disk has another fingerprint.

#include <gtest/gtest.h>

#include <set>

#include "cantilever/base/error.h"
#include "cantilever/base/log.h"
#include "tests/data/source/parquet_files.h"
#include "tests/data/source/table_files.h"
#include "tests/data/source/tar_files.h"

namespace cantilever {
namespace {

using test::source_options;
using test::write_text;

class Fingerprint : public testing::Test {
 protected:
  void SetUp() override { set_log_level(LogLevel::kError); }
  void TearDown() override { set_log_level(LogLevel::kInfo); }

  // Each of the options gives another fingerprint, the same one every time.
  void expect_all_differ(const std::filesystem::path& path, const std::vector<SourceOptions>& all) {
    std::set<uint64_t> seen;
    for (const SourceOptions& options : all) {
      const uint64_t print = open_source(path, options)->fingerprint();
      EXPECT_EQ(open_source(path, options)->fingerprint(), print);
      EXPECT_TRUE(seen.insert(print).second) << path << ", options " << seen.size();
    }
  }

  // Choices that bring other pictures, other rows or other captions.
  static std::vector<SourceOptions> choices(const std::string& image_root) {
    std::vector<SourceOptions> all = {source_options("image", "caption"),
                                      source_options("other", "caption"),
                                      source_options("image", "text")};
    all.push_back(all.front());
    all.back().image_root = image_root;
    all.push_back(all.front());
    all.back().allow_outside_paths = true;
    return all;
  }

  test::TemporaryFolder folder_;
};

TEST_F(Fingerprint, ColumnsAndRootOfTables) {
  write_text(folder_ / "root/a.png", "another a");
  const std::string root = (folder_ / "root").string();
  expect_all_differ(
      write_text(folder_ / "t.jsonl",
                 R"({"image": "a.png", "other": "b.png", "caption": "c", "text": "t"})"
                 "\n"),
      choices(root));
  expect_all_differ(write_text(folder_ / "t.csv", "image,other,caption,text\na.png,b.png,c,t\n"),
                    choices(root));
  const auto parquet = folder_ / "t.parquet";
  test::write_parquet(parquet, {"image", "other", "caption", "text"},
                      {test::strings({"a.png"}), test::strings({"b.png"}), test::strings({"c"}),
                       test::strings({"t"})});
  expect_all_differ(parquet, choices(root));
}

TEST_F(Fingerprint, ThePictureOfATarAndTheChoiceOfCaptions) {
  const auto tar = folder_ / "t.tar";
  write_text(tar, test::tar_member("k.jpg", "j") + test::tar_member("k.png", "p") +
                      test::tar_member("k.txt", "c") + test::tar_end());
  expect_all_differ(tar, {source_options("jpg", "txt"), source_options("png", "txt")});
  write_text(folder_ / "a.png", "a");
  std::vector<SourceOptions> captions(2, source_options("image", "caption"));
  captions[1].caption_choice = CaptionChoice::kAll;
  expect_all_differ(write_text(folder_ / "l.jsonl",
                               "{\"image\": \"a.png\", \"caption\": "
                               "[\"1\", \"2\"]}\n"),
                    captions);
}

TEST_F(Fingerprint, FoldersOfClassesWithTheSameNames) {
  for (const char* set : {"one", "two"}) write_text(folder_ / set / "cat/1.jpg", set);
  const SourceOptions options = source_options("image", "label");
  EXPECT_NE(open_source(folder_ / "one", options)->fingerprint(),
            open_source(folder_ / "two", options)->fingerprint());
}

}  // namespace
}  // namespace cantilever
