#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cantilever/base/error.h"
#include "tests/data/source/table_files.h"

namespace cantilever {
namespace {

using test::error_of;
using test::source_options;
using test::write_text;
using testing::AllOf;
using testing::HasSubstr;

class JsonSource : public testing::Test {
 protected:
  void SetUp() override { write_text(folder_ / "a.png", "picture a"); }

  std::shared_ptr<ExampleSource> open(const std::string& content,
                                      const std::string& name = "rows.jsonl",
                                      const SourceOptions& options = source_options()) {
    return open_source(write_text(folder_ / name, content), options);
  }

  test::TemporaryFolder folder_;
};

TEST_F(JsonSource, ReadsLines) {
  const auto source = open(
      "{\"image_path\": \"a.png\", \"caption\": \"one\"}\n\n"
      "{\"caption\": \"caf\\u00e9, \\\"two\\\"\", \"image_path\": \"./a.png\", \"more\": [1]}");
  ASSERT_EQ(source->size(), 2);
  const Example example = source->get(1);
  EXPECT_EQ(example.row, 1);
  EXPECT_EQ(example.caption, "caf\xc3\xa9, \"two\"");
  EXPECT_EQ(example.image_kind, ImageKind::kPath);
  EXPECT_EQ(test::picture_of(example), "picture a");
  EXPECT_EQ(source->caption(0), "one");
}

TEST_F(JsonSource, ReadsByteOrderMarkAndCarriageReturns) {
  const auto source = open(
      "\xef\xbb\xbf{\"image_path\": \"a.png\", \"caption\": \"one\"}\r\n"
      "{\"image_path\": \"a.png\", \"caption\": \"two\"}\r\n\r\n");
  ASSERT_EQ(source->size(), 2);
  EXPECT_EQ(source->get(1).caption, "two");
}

TEST_F(JsonSource, ReadsArraysAndDataObjects) {
  const std::string array =
      "[\n {\"image_path\": \"a.png\", \"caption\": \"x ] , }\"},\n"
      " {\"image_path\": \"a.png\", \"caption\": \"two\"}\n]\n";
  for (const std::string& content : {array, "{\"version\": \"1\", \"data\": " + array + "}",
                                     "{\n\"data\": " + array + "\n}\n"}) {
    const auto source = open(content, "rows.json");
    ASSERT_EQ(source->size(), 2);
    EXPECT_EQ(source->get(0).caption, "x ] , }");
    EXPECT_EQ(source->get(1).caption, "two");
  }
}

TEST_F(JsonSource, AnIndentedObjectIsOneRow) {
  const auto source = open("{\n  \"image_path\": \"a.png\",\n  \"caption\": \"one\"\n}\n");
  ASSERT_EQ(source->size(), 1);
  EXPECT_EQ(source->get(0).caption, "one");
}

TEST_F(JsonSource, StructOfBytesAndPathCountsAsBytes) {
  const auto source = open(
      "{\"image\": {\"bytes\": null, \"path\": \"a.png\"}, \"caption\": \"one\"}\n"
      "{\"image\": {\"bytes\": \"iVBOR\", \"path\": null}, \"caption\": \"two\"}\n",
      "rows.jsonl", source_options("image"));
  EXPECT_EQ(source->get(0).image_kind, ImageKind::kBytes);
  EXPECT_EQ(test::picture_of(source->get(0)), "picture a");
  EXPECT_THAT(error_of([&] { source->get(1); }), AllOf(HasSubstr("line 2"), HasSubstr("'bytes'")));
}

TEST_F(JsonSource, BadRowsAreErrorsOfTheirRows) {
  const auto source = open(
      "{\"image_path\": \"a.png\", \"caption\": \"good\"}\n"
      "{\"image_path\": \"a.png\", \"caption\": null}\n"
      "{\"image_path\": \"a.png\", \"caption\": [7, \"b\"]}\n"
      "{\"image_path\": \"a.png\", \"caption\": 7}\n"
      "{\"image_path\": \"a.png\"}\n"
      "{\"image_path\": \"gone.png\", \"caption\": \"c\"}\n"
      "{\"image_path\": \"a.png\", \"caption\": \n"
      "[1, 2]\n"
      "{\"image_path\": \"\", \"caption\": \"c\"}\n"
      "{\"image_path\": \"https://example.org/a.png\", \"caption\": \"c\"}\n"
      "{\"image_path\": \"a.png\", \"caption\": \"\\ud83d\"}\n"
      "{\"image_path\": \"a.png\", \"caption\": \"last\"}");
  ASSERT_EQ(source->size(), 12);
  const std::vector<std::pair<int, std::string>> expected = {
      {1, "null"},   {2, "list"},          {3, "int"},   {4, "no 'caption'"}, {5, "gone.png"},
      {6, "line 7"}, {7, "not an object"}, {8, "empty"}, {9, "is a URL"},     {10, "line 11"}};
  for (const auto& [row, words] : expected) {
    EXPECT_THAT(
        error_of([&, r = row] { source->get(r); }),
        AllOf(HasSubstr("rows.jsonl"), HasSubstr(concat("line ", row + 1)), HasSubstr(words)));
  }
  EXPECT_EQ(source->get(11).caption, "last");
  EXPECT_THROW(source->get(12), Error);
  EXPECT_THROW(source->get(-1), Error);
}

// Lines are counted once, not again for every bad row.
TEST_F(JsonSource, AFileOfBadRowsIsNotCountedForEachOfThem) {
  constexpr int kRows = 8000;
  std::string text;
  for (int i = 0; i < kRows; ++i) {
    text += concat("{\"image_path\": \"a.png\", \"caption\": null, \"more\": \"",
                   std::string(static_cast<size_t>(i % 101), 'x'), "\"}\n", i % 7 == 0 ? "\n" : "");
  }
  const auto source = open(text);
  ASSERT_EQ(source->size(), kRows);
  int line = 1;
  for (int i = 0; i < kRows; ++i, line += (i - 1) % 7 == 0 ? 2 : 1) {
    ASSERT_TRUE(source->place(i).ends_with(concat(", line ", line))) << i;
  }
}

// A file that is one object of very many members would be one row, parsed into gigabytes.
TEST_F(JsonSource, ARowOfManyMegabytesIsNotParsed) {
  const std::string text = "{\"a\": {\"list\": [" + std::string(size_t{34} << 20, ' ') + "]}}";
  EXPECT_THAT(error_of([&] { open(text); }),
              AllOf(HasSubstr("bytes, more than"), HasSubstr("line 1")));
}

TEST_F(JsonSource, ColumnsThatCannotServeAreRefusedAtOnce) {
  EXPECT_THAT(error_of([&] { open("{\"image_path\": \"a.png\", \"caption\": 7}\n"); }),
              AllOf(HasSubstr("'caption' holds int"), HasSubstr("image_path (string)")));
  EXPECT_THAT(error_of([&] { open("{\"image_path\": 1.5, \"caption\": \"c\"}\n"); }),
              HasSubstr("'image_path' holds float"));
  EXPECT_THAT(error_of([&] { open("{\"image_path\": \"a.png\", \"captions\": [\"c\"]}\n"); }),
              AllOf(HasSubstr("captions (list of strings)"), HasSubstr("did you mean 'captions'")));
}

TEST_F(JsonSource, DamagedFilesAreNamed) {
  EXPECT_THAT(error_of([&] { open(""); }), HasSubstr("empty"));
  EXPECT_THAT(error_of([&] { open(" \n\n"); }), HasSubstr("no rows"));
  EXPECT_THAT(error_of([&] { open("[]"); }), HasSubstr("no rows"));
  EXPECT_THAT(error_of([&] { open("[{\"image_path\": \"a"); }), HasSubstr("cut off"));
  EXPECT_THAT(error_of([&] { open("[{\"image_path\": \"a\"} {}]"); }), HasSubstr("comma"));
  EXPECT_THAT(error_of([&] { open("[{}] x"); }), HasSubstr("behind the end"));
  EXPECT_THAT(error_of([&] { open("hello\nworld\n"); }), HasSubstr("none of the first 2 rows"));
  EXPECT_THAT(error_of([&] { open("[\"a\", \"b\"]"); }), HasSubstr("not an object"));
  EXPECT_THAT(error_of([&] { open(std::string("\xff\xfe{\0", 4)); }), HasSubstr("UTF-16"));
  EXPECT_THAT(error_of([&] { open("{\"images\": [{}], \"annotations\": [{}]}", "c.json"); }),
              HasSubstr("COCO"));
  EXPECT_THAT(error_of([&] { open("{\"rows\": [{\"a\": 1}]}", "c.json"); }),
              AllOf(HasSubstr("'data'"), HasSubstr("'rows'")));
  EXPECT_THAT(error_of([&] { open(std::string(100000, '[')); }), HasSubstr("rows.jsonl"));
}

TEST_F(JsonSource, PathsStartAtTheImageRoot) {
  write_text(folder_ / "pictures/b.png", "picture b");
  SourceOptions options = source_options();
  options.image_root = (folder_ / "pictures").string();
  const auto source =
      open("{\"image_path\": \"b.png\", \"caption\": \"c\"}\n", "rows.jsonl", options);
  EXPECT_EQ(test::picture_of(source->get(0)), "picture b");
}

TEST_F(JsonSource, ListsOfCaptions) {
  const auto source = open(
      "{\"image_path\": \"a.png\", \"caption\": [\"one\", \"t\\u0077o\", \"three ] , \\\"\"]}\n"
      "{\"image_path\": \"a.png\", \"caption\": \"alone\"}\n"
      "{\"image_path\": \"a.png\", \"caption\": []}\n"
      "{\"image_path\": \"a.png\", \"caption\": [\"good\", null, 1e2]}\n");
  EXPECT_EQ(source->caption_count(0), 3);
  EXPECT_EQ(source->caption_count(1), 1);
  EXPECT_EQ(source->caption_count(2), 0);
  EXPECT_EQ(source->caption_count(3), 3);
  Example example;
  for (const auto& [draw, caption] : std::vector<std::pair<uint64_t, std::string>>{
           {0, "one"}, {1, "two"}, {2, "three ] , \""}, {3, "one"}, {~uint64_t{0}, "one"}}) {
    source->read(0, draw, example);
    EXPECT_EQ(example.caption, caption);
    std::string text;
    source->read_caption(0, draw, text);
    EXPECT_EQ(text, caption);
  }
  source->read(1, 5, example);
  EXPECT_EQ(example.caption, "alone");
  EXPECT_EQ(source->caption(3), "good");
  EXPECT_THAT(error_of([&] { source->caption(2); }),
              AllOf(HasSubstr("line 3"), HasSubstr("empty")));
  EXPECT_THAT(error_of([&] { source->read(3, 1, example); }),
              AllOf(HasSubstr("line 4"), HasSubstr("caption 1"), HasSubstr("null")));
}

}  // namespace
}  // namespace cantilever
