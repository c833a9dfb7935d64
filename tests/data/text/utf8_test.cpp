#include "cantilever/data/text/utf8.h"

#include <gtest/gtest.h>

#include <string>

namespace cantilever {
namespace {

// U+FFFD as R keeps the expectations readable; the texts are what Python's
// bytes.decode("utf-8", "replace") gave.
std::string repaired(const std::string& bytes) {
  std::string out = repair_utf8(bytes);
  for (size_t at = 0; (at = out.find("\xEF\xBF\xBD", at)) != std::string::npos;) {
    out.replace(at, 3, "R");
  }
  return out;
}

TEST(Utf8Test, ReplacesAsPythonDoes) {
  EXPECT_EQ(repaired("plain"), "plain");
  EXPECT_EQ(repaired("\xff"
                     "a"),
            "Ra");
  EXPECT_EQ(repaired("a\x80"), "aR");
  EXPECT_EQ(repaired("\xc3"), "R");
  EXPECT_EQ(repaired("\xc3("), "R(");
  EXPECT_EQ(repaired("\xe2\x82"), "R");
  EXPECT_EQ(repaired("\xe2\x82x"), "Rx");
  EXPECT_EQ(repaired("\xf0\x9f\x98"), "R");
  EXPECT_EQ(repaired("\xf0\x9f\x98\xf0"), "RR");
  EXPECT_EQ(repaired("\xed\xa0\x80"), "RRR");  // a surrogate
  EXPECT_EQ(repaired("\xc0\xaf"), "RR");       // overlong
  EXPECT_EQ(repaired("\xe0\x80\xaf"), "RRR");
  EXPECT_EQ(repaired("\xf4\x90\x80\x80"), "RRRR");  // above U+10FFFF
  EXPECT_EQ(repaired("\xf5\x80"), "RR");
}

TEST(Utf8Test, FindsTheValidPrefix) {
  EXPECT_EQ(valid_utf8_prefix(""), 0U);
  EXPECT_EQ(valid_utf8_prefix("a long ascii text, many words"), 29U);
  EXPECT_EQ(valid_utf8_prefix("caf\u00e9 \U0001F44D"), 10U);
  EXPECT_EQ(valid_utf8_prefix("eight by\xff"), 8U);
  EXPECT_EQ(valid_utf8_prefix("\u00e9\xe2\x82"), 2U);
}

TEST(Utf8Test, EncodesAndDecodesEveryLength) {
  for (const uint32_t code : {0U, 0x7FU, 0x80U, 0x7FFU, 0x800U, 0xFFFFU, 0x10000U, 0x10FFFFU}) {
    std::string text;
    append_utf8(text, code);
    const char* next = nullptr;
    EXPECT_EQ(decode_utf8(text.data(), &next), code);
    EXPECT_EQ(next, text.data() + text.size());
  }
}

}  // namespace
}  // namespace cantilever
