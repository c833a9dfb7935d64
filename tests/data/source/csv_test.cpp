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
using testing::ElementsAre;
using testing::HasSubstr;

class CsvSource : public testing::Test {
 protected:
  std::shared_ptr<ExampleSource> open(const std::string& content,
                                      const std::string& name = "rows.csv") {
    return open_source(write_text(folder_ / name, content), source_options());
  }
  static std::vector<std::string> captions(const ExampleSource& source) {
    std::vector<std::string> all;
    for (int64_t row = 0; row < source.size(); ++row) all.push_back(source.caption(row));
    return all;
  }

  test::TemporaryFolder folder_;
};

TEST_F(CsvSource, QuotesCommasAndLineBreaks) {
  const auto source = open(
      "image_path,caption\n"
      "a.png,\"one, two\"\n"
      "a.png,\"she said \"\"yes\"\"\"\n"
      "a.png,\"first\nsecond\r\nthird\"\n"
      "a.png,5\" pipe\n"
      "a.png,\"ends\" here\n"
      "\n"
      "a.png,\n"
      "a.png, blank\n"
      "a.png,last");
  EXPECT_THAT(captions(*source),
              ElementsAre("one, two", "she said \"yes\"", "first\nsecond\r\nthird", "5\" pipe",
                          "ends here", "", " blank", "last"));
}

TEST_F(CsvSource, LineEndsAndByteOrderMark) {
  for (const std::string end : {"\n", "\r\n", "\r"}) {
    const auto source =
        open("\xef\xbb\xbf\"image_path\",caption" + end + "a.png,one" + end + "a.png,two" + end);
    EXPECT_THAT(captions(*source), ElementsAre("one", "two"));
  }
}

TEST_F(CsvSource, TabSeparated) {
  const auto source = open("caption\timage_path\na, b\tx.png\n", "rows.tsv");
  EXPECT_THAT(captions(*source), ElementsAre("a, b"));
  EXPECT_THAT(error_of([&] { source->get(0); }), HasSubstr("x.png"));
}

TEST_F(CsvSource, TextFileWithAHeaderIsATable) {
  const auto source = open("image_path,caption\na.png,one\n", "captions.txt");
  EXPECT_THAT(captions(*source), ElementsAre("one"));
  EXPECT_THAT(error_of([&] { open("only prose\n", "prose.txt"); }), HasSubstr("not known"));
}

TEST_F(CsvSource, PicturesArePaths) {
  write_text(folder_ / "a.png", "picture a");
  const auto source = open("image_path,caption\na.png,one\n");
  const Example example = source->get(0);
  EXPECT_EQ(example.image_kind, ImageKind::kPath);
  EXPECT_EQ(test::picture_of(example), "picture a");
  EXPECT_EQ(example.image_path, (folder_ / "a.png").string());
}

TEST_F(CsvSource, RowsWithOtherCountsOfFieldsAreErrors) {
  const auto source = open("image_path,caption\na.png,one, two\na.png\na.png,\"fine, it is\"\n");
  EXPECT_THAT(error_of([&] { source->caption(0); }),
              AllOf(HasSubstr("line 2"), HasSubstr("3 fields"), HasSubstr("double quotes")));
  EXPECT_THAT(error_of([&] { source->get(1); }), AllOf(HasSubstr("line 3"), HasSubstr("1 field")));
  EXPECT_EQ(source->caption(2), "fine, it is");
}

TEST_F(CsvSource, AHeaderOfVeryManyFieldsIsRefused) {
  EXPECT_THAT(error_of([&] { open("image_path,caption" + std::string(20000, ',') + "\n"); }),
              AllOf(HasSubstr("rows.csv"), HasSubstr("more than 10000 fields")));
}

TEST_F(CsvSource, DamagedFilesAreNamed) {
  EXPECT_THAT(error_of([&] { open(""); }), HasSubstr("empty"));
  EXPECT_THAT(error_of([&] { open("\n\n"); }), HasSubstr("no header"));
  EXPECT_THAT(error_of([&] { open("image_path,caption\n"); }), HasSubstr("no rows"));
  EXPECT_THAT(error_of([&] { open("image_path,caption\na.png,\"open\nb.png,x\n"); }),
              AllOf(HasSubstr("line 2"), HasSubstr("never closed")));
  EXPECT_THAT(error_of([&] { open("caption,image_path,caption\na,b,c\n"); }),
              HasSubstr("more than one column is called 'caption'"));
}

}  // namespace
}  // namespace cantilever
