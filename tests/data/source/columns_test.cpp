#include "cantilever/data/source/columns.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cantilever/base/error.h"
#include "tests/data/source/table_files.h"

namespace cantilever {
namespace {

using testing::AllOf;
using testing::HasSubstr;

const ColumnInfo kId = {"id", "int64", false, false, false};
const ColumnInfo kImage = {"img", "struct<bytes: binary, path: string>", false, true, true};
const ColumnInfo kFile = {"file_name", "string", true, true, true};
const ColumnInfo kText = {"text", "string", true, true, false};
const ColumnInfo kUrl = {"url", "string", true, true, false};
const ColumnInfo kOther = {"remark", "string", true, true, false};

TableOptions defaults() {
  TableOptions options;
  options.image_column = "image_path";
  options.caption_column = "caption";
  options.find_image_column = true;
  options.find_caption_column = true;
  return options;
}

using Names = std::pair<std::string, std::string>;

Names found(const std::vector<ColumnInfo>& columns) {
  TableOptions options = defaults();
  const ColumnChoice choice = choose_columns("set", columns, options);
  EXPECT_EQ(columns[choice.image].name, options.image_column);
  EXPECT_EQ(columns[choice.caption].name, options.caption_column);
  return {options.image_column, options.caption_column};
}

TEST(Columns, DefaultNamesGiveWayToWhatTheTableHas) {
  EXPECT_EQ(found({kId, kImage, kText, kUrl}), Names("img", "text"));
  EXPECT_EQ(found({kFile, kOther}), Names("file_name", "remark"));
  // Stored pictures come before names of files.
  EXPECT_EQ(found({kFile, kImage, kText}), Names("img", "text"));
}

TEST(Columns, DefaultNamesThatAreThereAreTaken) {
  const ColumnInfo path = {"image_path", "string", true, true, true};
  const ColumnInfo caption = {"caption", "string", true, true, false};
  EXPECT_EQ(found({kImage, path, kText, caption}), Names("image_path", "caption"));
}

TEST(Columns, WhatIsNotClearIsAsked) {
  const auto error = [](const std::vector<ColumnInfo>& columns) {
    return test::error_of([&] {
      TableOptions options = defaults();
      choose_columns("set", columns, options);
    });
  };
  // Two columns of pictures; two of texts without a name that tells.
  const ColumnInfo second = {"other", "binary", false, true, true};
  EXPECT_THAT(error({kImage, second, kText}), AllOf(HasSubstr("image_path"), HasSubstr("other")));
  EXPECT_THAT(error({kImage, kUrl, kOther}), AllOf(HasSubstr("caption"), HasSubstr("remark")));
}

TEST(Columns, NamesThatWereGivenAreNeverReplaced) {
  TableOptions options = defaults();
  options.find_image_column = false;
  options.find_caption_column = false;
  EXPECT_THAT(test::error_of([&] { choose_columns("set", {kImage, kText}, options); }),
              HasSubstr("'image_path'"));
}

}  // namespace
}  // namespace cantilever
