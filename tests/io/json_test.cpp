#include "cantilever/io/json.h"

#include <cmath>
#include <limits>

#include "tests/io/support.h"

namespace cantilever {
namespace {

using namespace testing_io;
using ::testing::AllOf;
using ::testing::HasSubstr;

std::string parse_error(const std::string& text) {
  const std::string message = error_of([&] { parse_json(text, "config.json"); });
  EXPECT_TRUE(message.starts_with("config.json: not valid JSON: ")) << message;
  return message;
}

std::string one_line(const std::string& text) {
  return dump_json(parse_json(text, "t"), -1);
}

// Right-hand sides: json.dumps of Python 3.11.
TEST(JsonDump, FloatsAsPythonWritesThem) {
  const std::pair<double, const char*> cases[] = {
      {0.0, "0.0"},
      {-0.0, "-0.0"},
      {1.0, "1.0"},
      {-1.5, "-1.5"},
      {0.1, "0.1"},
      {1e-4, "0.0001"},
      {1e-5, "1e-05"},
      {0.00012345, "0.00012345"},
      {1.5e-7, "1.5e-07"},
      {1e15, "1000000000000000.0"},
      {1e16, "1e+16"},
      {123456789012345680.0, "1.2345678901234568e+17"},
      {9007199254740992.0, "9007199254740992.0"},
      {9999999999999998.0, "9999999999999998.0"},
      {1e22, "1e+22"},
      {1e23, "1e+23"},
      {1e100, "1e+100"},
      {-1e-10, "-1e-10"},
      {1.7976931348623157e308, "1.7976931348623157e+308"},
      {5e-324, "5e-324"},
      {2.2250738585072014e-308, "2.2250738585072014e-308"},
      {1.0 / 3, "0.3333333333333333"},
      {5e-05, "5e-05"},
      {123.456, "123.456"},
      {std::numeric_limits<double>::quiet_NaN(), "NaN"},
      {std::numeric_limits<double>::infinity(), "Infinity"},
      {-std::numeric_limits<double>::infinity(), "-Infinity"},
  };
  for (const auto& [value, text] : cases) EXPECT_EQ(dump_json(Json(value), -1), text);
}

// {"b": [1, 2.5, None, True, False], "a": {"x": ..., "e": [], "o": {}}, "n": nan, ...} in Python.
Json sample() {
  const double infinity = std::numeric_limits<double>::infinity();
  Json value;
  value["b"] = {1, 2.5, nullptr, true, false};
  value["a"]["x"] = "\xc3\xa9\"\\\n\t\r\b\f\x01\x7f/\xf0\x9f\x98\x80";
  value["a"]["e"] = Json::array();
  value["a"]["o"] = Json::object();
  value["n"] = std::numeric_limits<double>::quiet_NaN();
  value["i"] = {infinity, -infinity};
  value["big"] = std::numeric_limits<uint64_t>::max();
  value["neg"] = std::numeric_limits<int64_t>::min();
  value["\xc3\xbc"] = 1;
  return value;
}

TEST(JsonDump, IndentedInOrder) {
  EXPECT_EQ(dump_json(sample()),
            "{\n  \"b\": [\n    1,\n    2.5,\n    null,\n    true,\n    false\n  ],\n  \"a\": {\n"
            "    \"x\": \"\xc3\xa9\\\"\\\\\\n\\t\\r\\b\\f\\u0001\x7f/\xf0\x9f\x98\x80\",\n"
            "    \"e\": [],\n    \"o\": {}\n  },\n  \"n\": NaN,\n  \"i\": [\n    Infinity,\n"
            "    -Infinity\n  ],\n  \"big\": 18446744073709551615,\n"
            "  \"neg\": -9223372036854775808,\n  \"\xc3\xbc\": 1\n}");
}

TEST(JsonDump, OneLineSortedAndAscii) {
  EXPECT_EQ(dump_json(sample(), -1, true, true),
            "{\"a\": {\"e\": [], \"o\": {}, \"x\": \"\\u00e9\\\"\\\\\\n\\t\\r\\b\\f\\u0001\\u007f/"
            "\\ud83d\\ude00\"}, \"b\": [1, 2.5, null, true, false], \"big\": 18446744073709551615, "
            "\"i\": [Infinity, -Infinity], \"n\": NaN, \"neg\": -9223372036854775808, "
            "\"\\u00fc\": 1}");
  EXPECT_EQ(dump_json(Json{{"a", {1, 2}}}, 0), "{\n\"a\": [\n1,\n2\n]\n}");
  EXPECT_EQ(dump_json(Json::object()), "{}");
  EXPECT_EQ(dump_json(Json(nullptr)), "null");
}

// Python: b"...".decode(errors="replace"), then json.dumps.
TEST(JsonDump, BytesThatAreNotUtf8) {
  const std::pair<std::string, std::string> cases[] = {
      {"a\xff"
       "b",
       "\"a\\ufffdb\""},
      {"\xc3", "\"\\ufffd\""},
      {"\xe2\x82", "\"\\ufffd\""},
      {"\xed\xa0\x80", "\"\\ufffd\\ufffd\\ufffd\""},
      {"\xf0\x9f\x98x", "\"\\ufffdx\""},
      {"\xc0\xaf", "\"\\ufffd\\ufffd\""},
      {"\xf4\x90\x80\x80", "\"\\ufffd\\ufffd\\ufffd\\ufffd\""},
      {"\xf4\x8f\xbf\xbf", "\"\\udbff\\udfff\""},
  };
  for (const auto& [bytes, text] : cases) {
    EXPECT_EQ(dump_json(Json(bytes), -1, false, true), text);
  }
  EXPECT_EQ(dump_json(Json("\xff"), -1), "\"\xef\xbf\xbd\"");
}

TEST(JsonParse, ValuesAndOrder) {
  const std::string text =
      "{\"z\": 1, \"a\": [true, null, -3, 18446744073709551615, 1e2, \"\\u00e9\\ud83d\\ude00\"]}";
  EXPECT_EQ(one_line(text),
            "{\"z\": 1, \"a\": [true, null, -3, 18446744073709551615, 100.0, "
            "\"\xc3\xa9\xf0\x9f\x98\x80\"]}");
  EXPECT_EQ(one_line("\xef\xbb\xbf{}"), "{}");
  EXPECT_EQ(one_line(" 7 "), "7");
  EXPECT_EQ(one_line("-0"), "0");
  EXPECT_EQ(one_line("[[],{},[{}]]"), "[[], {}, [{}]]");
}

TEST(JsonParse, RepeatedKeysAsPython) {
  EXPECT_EQ(one_line("{\"a\":1,\"b\":2,\"a\":3}"), "{\"a\": 3, \"b\": 2}");
  EXPECT_THAT(
      error_of([] { parse_json("{\"x\":{\"a\":1,\"a\":1}}", "f", DuplicateKeys::kRefuse); }),
      AllOf(HasSubstr("'a'"), HasSubstr("twice")));
}

TEST(JsonParse, NotANumberAndInfinity) {
  EXPECT_EQ(one_line("[NaN,Infinity,-Infinity, NaN ]"), "[NaN, Infinity, -Infinity, NaN]");
  EXPECT_EQ(one_line("NaN"), "NaN");
  EXPECT_EQ(one_line("{\"loss\":NaN}"), "{\"loss\": NaN}");
  EXPECT_EQ(one_line("[\"NaN\", \"\\\"Infinity\", NaN]"), "[\"NaN\", \"\\\"Infinity\", NaN]");
  for (const char* text : {"nan", "NaN1", "1NaN", "1Infinity", "-NaN", "+Infinity", "Infinit",
                           "[--Infinity]", "NaNNaN", "xNaN", "{NaN:1}"}) {
    parse_error(text);
  }
  parse_error("[NaN, 0e-" + std::string(64, '0') + "1]");
}

TEST(JsonParse, HugeNumbers) {
  EXPECT_EQ(parse_json("1000000000000000019884624838656", "t").get<double>(), 1e30);
  EXPECT_EQ(parse_json("-9223372036854775809", "t").get<double>(), -0x1p63);
  EXPECT_EQ(parse_json("18446744073709551616", "t").get<double>(), 0x1p64);
  EXPECT_EQ(parse_json("1e-400", "t").get<double>(), 0.0);
  parse_error("1e400");
  parse_error("1" + std::string(400, '0'));
}

TEST(JsonParse, ErrorsSayWhere) {
  EXPECT_THAT(parse_error("{\n \"a\": 1 2}"), HasSubstr("line 2"));
  EXPECT_THAT(parse_error(""), HasSubstr("end of input"));
  for (const char* text :
       {"{",        "[1,]",        "{\"a\":1,}", "{a:1}",   "'a'",       "01",     "1.",
        ".5",       "+1",          "1 2",        "// c\n1", "/* c */ 1", "\"\n\"", "\"\\x\"",
        "\"\xff\"", "\"\\ud800\"", "\"",         "[1}",     "tru",       "\x01"}) {
    parse_error(text);
  }
  parse_error(std::string("1\0", 2));
  // The message stays short whatever the file holds.
  EXPECT_LT(parse_error("\"" + std::string(1000000, 'x')).size(), 500u);
}

TEST(JsonParse, Depth) {
  const auto nested = [](size_t depth) {
    return std::string(depth, '[') + std::string(depth, ']');
  };
  EXPECT_EQ(one_line(nested(512)), nested(512));
  EXPECT_THAT(parse_error(nested(513)), HasSubstr("nesting beyond 512"));
  EXPECT_THAT(parse_error(std::string(1000000, '[')), HasSubstr("nesting"));
  std::string objects;
  for (int i = 0; i < 100000; ++i) objects += "{\"a\":";
  EXPECT_THAT(parse_error(objects), HasSubstr("nesting"));
}

// 200,000 members take a moment; with a walk of all members for each it would be minutes.
TEST(JsonParse, ManyMembers) {
  std::string text = "{";
  for (int i = 0; i < 200000; ++i) text += concat(i > 0 ? "," : "", "\"k", i, "\":", i);
  const Json value = parse_json(text + "}", "vocab.json");
  EXPECT_EQ(value.size(), 200000u);
  EXPECT_EQ(std::prev(value.end()).value(), 199999);
}

TEST(JsonFile, WriteAndRead) {
  const TemporaryFolder folder;
  const fs::path path = folder.path() / "a.json";
  write_json(path, {{"b", 1}, {"a", 1e-5}});
  EXPECT_EQ(slurp(path), "{\n  \"b\": 1,\n  \"a\": 1e-05\n}\n");
  EXPECT_EQ(read_json(path)["a"], 1e-5);
  write_json(path, {{"b", 1}, {"a", 2}}, 4, true, false);
  EXPECT_EQ(slurp(path), "{\n    \"a\": 2,\n    \"b\": 1\n}");
  EXPECT_THAT(error_of([&] { read_json(folder.path() / "none.json"); }), HasSubstr("none.json"));
  const fs::path pointer =
      folder.file("p.json", "version https://git-lfs.github.com/spec/v1\nsize 77\n");
  EXPECT_THAT(error_of([&] { read_json(pointer); }),
              AllOf(HasSubstr("p.json"), HasSubstr("Git LFS"), HasSubstr("77 bytes")));
}

template <class T>
T member(const std::string& value, const T& fallback) {
  return json_value<T>(parse_json("{\"k\":" + value + "}", "t"), "k", fallback, "config.json");
}

template <class T>
void refuse(const std::string& value) {
  EXPECT_THAT(error_of([&] { member<T>(value, T{}); }),
              AllOf(HasSubstr("config.json"), HasSubstr("'k'"), HasSubstr("not of the type")))
      << value;
}

TEST(JsonValue, MembersOfTheRightType) {
  EXPECT_EQ(member<int64_t>("3", 0), 3);
  EXPECT_EQ(member<int64_t>("3.0", 0), 3);
  EXPECT_EQ(member<int64_t>("null", 5), 5);
  EXPECT_EQ(member<uint64_t>("18446744073709551615", 0), std::numeric_limits<uint64_t>::max());
  EXPECT_EQ(member<double>("2", 0.0), 2.0);
  EXPECT_TRUE(std::isnan(member<double>("NaN", 0.0)));
  EXPECT_EQ(member<bool>("true", false), true);
  EXPECT_EQ(member<std::string>("\"x\"", ""), "x");
  EXPECT_EQ(member<std::vector<int>>("[1,2.0]", {}), (std::vector<int>{1, 2}));
  EXPECT_EQ(json_value<int>(Json::object(), "k", 7, "w"), 7);
}

TEST(JsonValue, NothingIsCutToFit) {
  refuse<int>("1.5");
  refuse<int>("true");
  refuse<int>("\"1\"");
  refuse<int32_t>("4294967296");
  refuse<int64_t>("9223372036854775808");
  refuse<int64_t>("1e300");
  refuse<int64_t>("NaN");
  refuse<uint64_t>("-1");
  refuse<double>("true");
  refuse<double>("\"1\"");
  refuse<bool>("1");
  refuse<std::string>("1");
  refuse<std::vector<int>>("[1,true]");
  refuse<std::vector<int>>("3");
  EXPECT_THAT(error_of([] { json_value<int>(Json(3), "k", 7, "config.json"); }),
              AllOf(HasSubstr("config.json"), HasSubstr("object")));
}

}  // namespace
}  // namespace cantilever
