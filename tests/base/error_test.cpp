#include "cantilever/base/error.h"

#include <gtest/gtest.h>

#include <iomanip>

namespace cantilever {
namespace {

TEST(Error, CheckThrowsErrorWithAllParts) {
  try {
    CANTILEVER_CHECK(1 > 2, "row ", 7, ": ", quoted("a\nb"), " is wrong");
    FAIL() << "nothing was thrown";
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(), "row 7: 'a\\x0ab' is wrong");
  }
}

TEST(Error, AssertThrowsInternalErrorWithPlaceAndCondition) {
  try {
    CANTILEVER_ASSERT(1 > 2);
    FAIL() << "nothing was thrown";
  } catch (const InternalError& error) {
    EXPECT_NE(std::string(error.what()).find("error_test.cpp"), std::string::npos);
    EXPECT_NE(std::string(error.what()).find("1 > 2"), std::string::npos);
  }
}

TEST(Error, QuotedCutsLongValues) {
  EXPECT_EQ(quoted("abcdef", 3), "'abc...'");
}

TEST(Error, QuotedOfANonConstStringIsOursNotTheStandards) {
  std::string value = "a\nb";
  EXPECT_EQ(concat(quoted(value)), "'a\\x0ab'");
}

TEST(Error, NearestNameForgivesCaseAndSlips) {
  const std::vector<std::string> names = {"caption", "image", "url"};
  EXPECT_EQ(nearest_name("Caption", names), "caption");
  EXPECT_EQ(nearest_name("captoin", names), "caption");
  EXPECT_EQ(nearest_name("trian", {"train", "init"}), "train");
  EXPECT_EQ(nearest_name("learning_rate", names), "");
}

}  // namespace
}  // namespace cantilever
