#include "cantilever/data/source/json_fields.h"

#include <gtest/gtest.h>

#include <array>
#include <random>

#include "cantilever/base/error.h"
#include "cantilever/io/json.h"
#include "tests/data/source/table_files.h"

namespace cantilever {
namespace {

constexpr std::array<std::string_view, 2> kKeys = {"a", "b"};

// The quick way may pass, but never differ: what it finds is what the library finds.
void expect_agreement(const std::string& text, bool quick_wanted = false) {
  std::array<JsonField, 2> fields;
  const bool quick = find_json_fields(text, kKeys, fields);
  if (quick_wanted) {
    EXPECT_TRUE(quick) << text;
  }
  if (!quick) return;
  Json object;
  ASSERT_EQ(test::error_of([&] { object = parse_json(text, "x"); }), "") << text;
  ASSERT_TRUE(object.is_object());
  for (size_t i = 0; i < kKeys.size(); ++i) {
    const auto found = object.find(std::string(kKeys[i]));
    const JsonField& field = fields[i];
    ASSERT_EQ(found == object.end(), field.kind == JsonField::Kind::kMissing) << text;
    if (found == object.end()) continue;
    std::string value;
    if (field.kind == JsonField::Kind::kString) {
      unescape_json_string(field.text, value);
      EXPECT_EQ(value, found->get<std::string>()) << text;
    } else if (field.kind == JsonField::Kind::kStrings) {
      ASSERT_EQ(field.count, found->size());
      for (size_t k = 0; k < field.count; ++k) {
        unescape_json_string(json_string_at(field.text, k), value);
        EXPECT_EQ(value, (*found)[k].get<std::string>()) << text;
      }
    } else {
      EXPECT_EQ(field.kind == JsonField::Kind::kNull, found->is_null()) << text;
      EXPECT_EQ(parse_json(field.text, "x"), *found);
      EXPECT_FALSE(found->is_string());
    }
  }
}

const std::vector<std::string>& usual_texts() {
  static const std::vector<std::string> kTexts = {
      R"({"a": "x.png", "b": "a caption"})",
      R"( {"b":"caf\u00e9 \"q\" \\ \/ \b\f\n\r\t","c":[1,{"d":[null,true,false,-0.5]}],"a":"x"} )",
      R"({"a": "1", "a": "2", "b": null})",
      R"({"b": ["one", "t]w,o", "\ud83d\ude00"], "a": ["x"], "n": 12345678901234567})",
      R"({"b": [], "a": {"path": "p"}})",
      R"({})",
      R"({"a": "漢字 😀 é", "b": "العربية"})",
      R"({"b": "\u0000\u001f\uffff", "a": [1, "x"]})"};
  return kTexts;
}

TEST(JsonFields, FindsWhatTheLibraryFinds) {
  for (const std::string& text : usual_texts()) expect_agreement(text, true);
}

TEST(JsonFields, LeavesTheUnusualToTheLibrary) {
  const std::vector<std::string> texts = {
      "",
      "{",
      "[]",
      "null",
      R"({"a": "x")",
      R"({"a": "x",})",
      R"({"a": "x"} x)",
      R"({"a" "x"})",
      R"({"\u0061": "x"})",
      R"({"a": 1e400})",
      R"({"a": NaN})",
      R"({"a": 01})",
      R"({"a": -})",
      R"({"a": "\ud83d"})",
      R"({"a": "\ude00"})",
      R"({"a": "\ud83d\u0041"})",
      R"({"a": "\x"})",
      R"({"a": "\u12g4"})",
      R"({"a": tru})",
      R"({"a": truex})",
      R"({"a": "x", "b": [1,]})",
      R"({"a": .5})",
      R"({"a": 1.})",
      "{\"a\": \"x\ny\"}",
      "{\"a\": \"\xff\"}",
      "{\"a\": \"\xc0\x80\"}",
      "{\"a\": \"\xed\xa0\x80\"}",
      "{\"a\": \"\xf4\x90\x80\x80\"}",
      "{\"a\": \"\xe2\x82\"}",
      R"({"a": "x\)",
      std::string("{\"a\": \"\0\"}", 9),
      "{\"a\": " + std::string(100, '[') + std::string(100, ']') + "}"};
  for (const std::string& text : texts) {
    std::array<JsonField, 2> fields;
    EXPECT_FALSE(find_json_fields(text, kKeys, fields)) << text;
  }
}

TEST(JsonFields, AgreesOnDamagedTexts) {
  std::mt19937 random(7);
  const std::string bytes = "\"\\{}[],:ntfu019-.eE \n\xc3\xa9\x80\xff";
  for (const std::string& text : usual_texts()) {
    for (int i = 0; i < 4000; ++i) {
      std::string changed = text;
      for (auto edits = 1 + random() % 3; edits > 0 && !changed.empty(); --edits) {
        const size_t at = random() % changed.size();
        const char byte = bytes[random() % bytes.size()];
        switch (random() % 3) {
          case 0:
            changed[at] = byte;
            break;
          case 1:
            changed.insert(at, 1, byte);
            break;
          default:
            changed.erase(at, 1);
        }
      }
      expect_agreement(changed);
    }
  }
}

}  // namespace
}  // namespace cantilever
