#include "cantilever/data/text/split_pattern.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace cantilever {
namespace {

std::vector<std::string> split(const std::string& text) {
  const PieceSplitter splitter;
  std::vector<std::string> parts;
  const char* p = text.data();
  const char* const end = p + text.size();
  while (p != end) {
    const char* const next = splitter.next(p, end);
    parts.emplace_back(p, next);
    p = next;
  }
  return parts;
}

using Parts = std::vector<std::string>;

// What the `tokenizers` library gave for these texts.
TEST(SplitPatternTest, CutsLikeGpt2sPattern) {
  EXPECT_EQ(split("a  b"), (Parts{"a", " ", " b"}));
  EXPECT_EQ(split("a \t\nb"), (Parts{"a", " \t", "\n", "b"}));
  EXPECT_EQ(split("it's 'S 'll'll"), (Parts{"it", "'s", " '", "S", " '", "ll", "'ll"}));
  EXPECT_EQ(split("a\u00a0b \u00a0"), (Parts{"a", "\u00a0", "b", " \u00a0"}));
  EXPECT_EQ(split("\u200b\u2028x "), (Parts{"\u200b", "\u2028", "x", " "}));
  EXPECT_EQ(split("x'"), (Parts{"x", "'"}));
  EXPECT_EQ(split("1a2"), (Parts{"1", "a", "2"}));
  EXPECT_EQ(split("\u00b2\u00bd\u2167"), (Parts{"\u00b2\u00bd\u2167"}));
  EXPECT_EQ(split(std::string("\x00\x01"
                              "a",
                              3)),
            (Parts{std::string("\x00\x01", 2), "a"}));
  EXPECT_EQ(split(" \u3000x"), (Parts{" ", "\u3000", "x"}));
  EXPECT_EQ(split("  !!"), (Parts{" ", " !!"}));
  EXPECT_EQ(split("\r\n\r\na"), (Parts{"\r\n\r", "\n", "a"}));
  EXPECT_EQ(split("_a_"), (Parts{"_", "a", "_"}));
}

TEST(SplitPatternTest, KnowsTheContractions) {
  EXPECT_EQ(split("I'm we've you're he'd she'll it's don't"),
            (Parts{"I", "'m", " we", "'ve", " you", "'re", " he", "'d", " she", "'ll", " it", "'s",
                   " don", "'t"}));
  EXPECT_EQ(split("''s'x'r'l'v"), (Parts{"''", "s", "'", "x", "'", "r", "'", "l", "'", "v"}));
  EXPECT_EQ(split("'sx"), (Parts{"'s", "x"}));
  EXPECT_EQ(split("!'s"), (Parts{"!'", "s"}));
}

TEST(SplitPatternTest, ClassesOfSomeCodePoints) {
  const UnicodeTable& table = UnicodeTable::get();
  EXPECT_EQ(table(0x3A9), UnicodeClass::kLetter);
  EXPECT_EQ(table(0x5B57), UnicodeClass::kLetter);
  EXPECT_EQ(table(0x661), UnicodeClass::kNumber);
  EXPECT_EQ(table(0x301), UnicodeClass::kOther);  // a combining accent is no letter
  EXPECT_EQ(table(0x1F600), UnicodeClass::kOther);
  EXPECT_EQ(table(0x85), UnicodeClass::kSpace);
  EXPECT_EQ(table(0x1C), UnicodeClass::kOther);  // white space for Python, not here
  EXPECT_EQ(table(0x180E), UnicodeClass::kOther);
  EXPECT_EQ(table(0x10FFFF), UnicodeClass::kOther);
}

TEST(SplitPatternTest, FastTableForAsciiAgreesWithTheRanges) {
  for (uint32_t code = 0; code < 128; ++code) {
    EXPECT_EQ(kAsciiClasses[code], UnicodeTable::get()(code)) << code;
  }
}

}  // namespace
}  // namespace cantilever
