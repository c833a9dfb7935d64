#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cantilever/base/error.h"
#include "cantilever/base/log.h"
#include "cantilever/data/source/caption_rows.h"
#include "tests/data/source/table_files.h"

namespace cantilever {
namespace {

using test::error_of;
using test::source_options;
using test::write_text;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

constexpr const char* kCoco = R"({"info": {"year": 2017, "urls": ["a", "]}"]}, "licenses": [],
 "images": [{"id": 7, "file_name": "seven.jpg", "width": 640},
            {"file_name": "ni\u006ee.jpg", "id": 9, "score": 1e-5}, {"id": 11},
            {"id": 12, "file_name": "unused.jpg"}],
 "annotations": [{"image_id": 9, "id": 1, "caption": "first of \"nine\""},
                 {"image_id": 7, "id": 2, "caption": "first of seven"},
                 {"image_id": 404, "id": 3, "caption": "of none"},
                 {"image_id": 9, "id": 4, "caption": "second of nine", "area": 2.5e3},
                 {"image_id": 7, "id": 5, "caption": 5},
                 {"image_id": 11, "id": 6, "caption": "no file name"},
                 {"id": 7, "caption": "no image_id"}]})";

class Captions : public testing::Test {
 protected:
  void SetUp() override { set_log_level(LogLevel::kError); }
  void TearDown() override { set_log_level(LogLevel::kInfo); }

  // Row by row "picture: caption", or the error's first words.
  static std::vector<std::string> rows(const ExampleSource& source, uint64_t draw = 0) {
    std::vector<std::string> all;
    Example example;
    for (int64_t row = 0; row < source.size(); ++row) {
      const std::string error = error_of([&] { source.read(row, draw, example); });
      all.push_back(error.empty() ? test::picture_of(example) + ": " + example.caption : "bad");
    }
    return all;
  }
  void pictures(const std::string& below) {
    for (const std::string name : {"seven", "nine", "unused"}) {
      write_text(folder_ / below / (name + ".jpg"), name);
    }
  }

  test::TemporaryFolder folder_;
};

TEST_F(Captions, CocoHasARowForEveryAnnotation) {
  pictures("");
  const auto source = open_source(write_text(folder_ / "captions.json", kCoco), source_options());
  EXPECT_THAT(rows(*source), ElementsAre("nine: first of \"nine\"", "seven: first of seven",
                                         "nine: second of nine", "bad", "bad"));
  EXPECT_EQ(source->caption_count(0), 1);
  EXPECT_EQ(source->get(0).image_kind, ImageKind::kPath);
  EXPECT_THAT(error_of([&] { source->get(3); }),
              AllOf(HasSubstr("captions.json"), HasSubstr("'caption'"), HasSubstr("number")));
  EXPECT_THAT(error_of([&] { source->get(4); }), HasSubstr("'file_name'"));
  EXPECT_THAT(source->description(), HasSubstr("5 captions of 4 pictures, COCO"));
}

TEST_F(Captions, CocoByPicture) {
  pictures("");
  SourceOptions options = source_options();
  for (const CaptionChoice choice : {CaptionChoice::kFirst, CaptionChoice::kRandom}) {
    options.caption_choice = choice;
    const auto source = open_source(write_text(folder_ / "captions.json", kCoco), options);
    ASSERT_EQ(source->size(), 3);
    EXPECT_EQ(source->caption_count(0), 2);
    EXPECT_EQ(source->caption_count(1), 2);
    EXPECT_THAT(rows(*source),
                ElementsAre("nine: first of \"nine\"", "seven: first of seven", "bad"));
    EXPECT_THAT(rows(*source, 5), ElementsAre("nine: second of nine", "bad", "bad"));
  }
}

TEST_F(Captions, CocoPicturesLieWhereTheyUsuallyDo) {
  for (const std::string below : {"images/", "train2017/", "images/train2017/"}) {
    test::TemporaryFolder set;
    for (const std::string name : {"seven", "nine"}) {
      write_text(set / below / (name + ".jpg"), name);
    }
    write_text(set / "val2017/other.jpg", "other");
    const auto path = write_text(set / "annotations/captions_train2017.json", kCoco);
    EXPECT_EQ(rows(*open_source(path, source_options()))[0], "nine: first of \"nine\"") << below;
    EXPECT_EQ(rows(*open_source(set.path(), source_options()))[0], "nine: first of \"nine\"");
    SourceOptions options = source_options();
    options.image_root = set.path().string();
    EXPECT_EQ(rows(*open_source(path, options))[0], "nine: first of \"nine\"");
  }
  // Spread over two folders.
  write_text(folder_ / "p/seven.jpg", "seven");
  write_text(folder_ / "q/nine.jpg", "nine");
  const auto source = open_source(write_text(folder_ / "c.json", kCoco), source_options());
  EXPECT_THAT(rows(*source), ElementsAre("nine: first of \"nine\"", "seven: first of seven",
                                         "nine: second of nine", "bad", "bad"));
}

TEST_F(Captions, CocoFolderSplitsByTheNamesOfItsFiles) {
  pictures("train2017");
  pictures("val2017");
  write_text(folder_ / "annotations/captions_train2017.json", kCoco);
  write_text(folder_ / "annotations/captions_val2017.json", kCoco);
  write_text(folder_ / "annotations/instances_train2017.json",
             R"({"images": [], "annotations": []})");
  SourceOptions options = source_options();
  options.dataset_name = folder_.path().string();
  const auto splits = open_splits(options);
  ASSERT_EQ(splits.size(), 2U);
  EXPECT_EQ(splits.at("train")->size(), 5);
  EXPECT_EQ(rows(*splits.at("validation"))[1], "seven: first of seven");
}

TEST_F(Captions, CocoFilesThatCannotServe) {
  const auto open = [&](const std::string& content) {
    return error_of(
        [&] { open_source(write_text(folder_ / "c.json", content), source_options()); });
  };
  EXPECT_THAT(open(R"({"images": [{"id": 1, "file_name": "a"}], "annotations": []})"),
              AllOf(HasSubstr("c.json"), HasSubstr("no rows")));
  EXPECT_THAT(open(R"({"images": [{"id": 1}], "annotations": [{"image_id": 2, "caption": "c"}]})"),
              HasSubstr("belongs to one of its 1 images"));
  EXPECT_THAT(open(R"({"images": [{"id": 1, "file_name": "a"}],
                       "annotations": [{"image_id": 1, "bbox": [1, 2]}]})"),
              AllOf(HasSubstr("no 'caption'"), HasSubstr("captions_train2017.json")));
  EXPECT_THAT(open(R"({"images": [{"id": 1}], "annotations": [{"image_id": 1 "caption": 2}]})"),
              HasSubstr("not valid JSON"));
  EXPECT_THAT(open(R"({"images": [{"id": 1}, "annotations": [{"image_id": 1}]})"),
              HasSubstr("c.json"));
  std::string deep = R"({"images": [], "annotations": [)" + std::string(100000, '[');
  EXPECT_THAT(open(deep), HasSubstr("c.json"));
  deep += std::string(100000, ']') + "]}";
  EXPECT_THAT(open(deep), HasSubstr("nesting"));
}

TEST_F(Captions, Flickr8kLines) {
  write_text(folder_ / "Images/a#b.jpg", "a");
  write_text(folder_ / "Images/c.jpg", "c");
  const auto path = write_text(folder_ / "Flickr8k.token",
                               "a#b.jpg#0\tone\nc.jpg#0\tof c\r\na#b.jpg#1\ttwo\ttabs\n\nno tab\n");
  const auto source = open_source(path, source_options());
  EXPECT_THAT(rows(*source), ElementsAre("a: one", "c: of c", "a: two\ttabs", "bad"));
  EXPECT_THAT(error_of([&] { source->get(3); }), AllOf(HasSubstr("line 5"), HasSubstr("no tab")));
  SourceOptions options = source_options();
  options.caption_choice = CaptionChoice::kRandom;
  const auto grouped = open_source(path, options);
  EXPECT_THAT(rows(*grouped, 1), ElementsAre("a: two\ttabs", "c: of c", "bad"));
  EXPECT_THAT(error_of([&] { open_source(write_text(folder_ / "x.token", "prose\n"), options); }),
              AllOf(HasSubstr("x.token"), HasSubstr("line 1")));
}

TEST_F(Captions, KagglesTables) {
  write_text(folder_ / "Images/a.jpg", "a");
  write_text(folder_ / "Images/b.jpg", "b");
  const auto flickr8k = write_text(folder_ / "captions.txt",
                                   "image,caption\na.jpg,\"one, first\"\na.jpg,two\nb.jpg,of b\n");
  SourceOptions options = source_options("image");
  EXPECT_THAT(rows(*open_source(flickr8k, options)),
              ElementsAre("a: one, first", "a: two", "b: of b"));
  options.caption_choice = CaptionChoice::kFirst;
  EXPECT_THAT(rows(*open_source(flickr8k, options)), ElementsAre("a: one, first", "b: of b"));
  const auto flickr30k = write_text(folder_ / "results.csv",
                                    "image_name| comment_number| comment\na.jpg| 0| One , \"two\" "
                                    ".\nb.jpg| 0| Three\nb.jpg| 1 x\n");
  options = source_options("image_name", "comment");
  EXPECT_THAT(rows(*open_source(flickr30k, options)),
              ElementsAre("a: One , \"two\" .", "b: Three", "bad"));
}

// A set that ships images -> / may not read what lies there.
TEST_F(Captions, FoldersOfPicturesAreNotLookedForBehindLinksThatLeave) {
  for (const std::string name : {"seven", "nine"}) {
    write_text(folder_ / "far/elsewhere" / (name + ".jpg"), name);
  }
  const auto path = write_text(folder_ / "set/captions.json", kCoco);
  std::filesystem::create_directory_symlink("../far/elsewhere", folder_ / "set/images");
  SourceOptions options = source_options();
  for (const auto& named : {path, folder_ / "set"}) {
    const auto source = open_source(named, options);
    EXPECT_THAT(rows(*source), testing::Each("bad"));
    EXPECT_THAT(error_of([&] { source->get(0); }), HasSubstr("--image_root"));
  }
  options.image_root = (folder_ / "set/images").string();
  EXPECT_THAT(rows(*open_source(path, options)), testing::Contains("seven: first of seven"));
  options.image_root.clear();
  options.allow_outside_paths = true;
  EXPECT_THAT(rows(*open_source(path, options)), testing::Contains("seven: first of seven"));
  // A link that stays inside is as good as a folder.
  std::filesystem::rename(folder_ / "far/elsewhere", folder_ / "set/real");
  std::filesystem::remove(folder_ / "set/images");
  std::filesystem::create_directory_symlink("real", folder_ / "set/images");
  options.allow_outside_paths = false;
  EXPECT_THAT(rows(*open_source(path, options)), testing::Contains("seven: first of seven"));
}

TEST_F(Captions, ListsBecomeRowsWhenAllAreAskedFor) {
  write_text(folder_ / "a.png", "a");
  const auto path = write_text(folder_ / "rows.jsonl",
                               "{\"image_path\": \"a.png\", \"caption\": [\"1\", \"2\"]}\n"
                               "{\"image_path\": \"a.png\", \"caption\": \"3\"}\n"
                               "{\"image_path\": \"a.png\", \"caption\": []}\n"
                               "broken\n"
                               "{\"image_path\": \"a.png\", \"caption\": [\"4\"]}\n");
  SourceOptions options = source_options();
  EXPECT_THAT(rows(*open_source(path, options)), ElementsAre("a: 1", "a: 3", "bad", "bad", "a: 4"));
  EXPECT_THAT(rows(*open_source(path, options), 1),
              ElementsAre("a: 2", "a: 3", "bad", "bad", "a: 4"));
  options.caption_choice = CaptionChoice::kAll;
  const auto all = open_source(path, options);
  EXPECT_THAT(rows(*all), ElementsAre("a: 1", "a: 2", "a: 3", "bad", "bad", "a: 4"));
  EXPECT_THAT(rows(*all, 1), ElementsAre("a: 1", "a: 2", "a: 3", "bad", "bad", "a: 4"));
  EXPECT_EQ(all->get(5).row, 5);
  EXPECT_THAT(all->place(1), AllOf(HasSubstr("line 1"), HasSubstr("caption 2")));
  EXPECT_THAT(all->description(), HasSubstr("6 captions"));
  EXPECT_NE(all->fingerprint(), open_source(path, source_options())->fingerprint());
  EXPECT_THROW(all->get(6), Error);
  EXPECT_THROW(all->get(-1), Error);
}

}  // namespace
}  // namespace cantilever
