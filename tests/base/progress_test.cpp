#include "cantilever/base/progress.h"

#include <gtest/gtest.h>

#include <cmath>
#include <string>

namespace cantilever {
namespace {

std::string content(std::FILE* file) {
  std::rewind(file);
  std::string text;
  for (int c = std::fgetc(file); c != EOF; c = std::fgetc(file)) text += static_cast<char>(c);
  return text;
}

TEST(FormatSeconds, ReadsLikeAClock) {
  EXPECT_EQ(format_seconds(75), "1:15");
  EXPECT_EQ(format_seconds(3675), "1:01:15");
  EXPECT_EQ(format_seconds(NAN), "?");
}

TEST(Progress, InAFileOneLineAtTheEndAndNoControlCharacters) {
  std::FILE* file = std::tmpfile();
  ASSERT_NE(file, nullptr);
  {
    Progress progress("train", 10, true, 0, file);
    for (int64_t i = 1; i <= 10; ++i) progress.update(i, "loss 1.5");
  }
  const std::string text = content(file);
  std::fclose(file);
  EXPECT_EQ(text.rfind("train 10/10 ", 0), 0U) << text;
  EXPECT_NE(text.find("loss 1.5\n"), std::string::npos) << text;
  EXPECT_EQ(text.find('\r'), std::string::npos) << text;
}

TEST(Progress, DisabledWritesNothing) {
  std::FILE* file = std::tmpfile();
  ASSERT_NE(file, nullptr);
  {
    Progress progress("train", 10, false, 0, file);
    progress.update(10);
  }
  EXPECT_EQ(content(file), "");
  std::fclose(file);
}

}  // namespace
}  // namespace cantilever
