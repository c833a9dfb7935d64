#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

namespace cantilever {

// A member's value as it stands in a JSON text.
struct JsonField {
  enum class Kind { kMissing, kNull, kString, kStrings, kOther };  // kStrings: an array of them

  Kind kind = Kind::kMissing;
  std::string_view text;  // with its quotes or brackets
  size_t count = 0;       // strings of a kStrings
};

// Finds the members named `keys` of a text that is one JSON object, without a tree and without
// allocating; of equal keys the last counts. False when the text is broken or unusual (escapes in
// keys, nesting beyond 32 levels, NaN, numbers with an exponent or of many digits): then parse_json
// decides. True only for texts that parse_json takes too, with the same values.
bool find_json_fields(std::string_view object, std::span<const std::string_view> keys,
                      std::span<JsonField> fields);

// The string `text` (with its quotes), or the one with number `index` of an array of strings, as
// UTF-8 into `out`. Only for texts that find_json_fields has found.
void unescape_json_string(std::string_view text, std::string& out);
std::string_view json_string_at(std::string_view array, size_t index);

// The offset behind the valid JSON string that starts at `at` (a quote); npos when it is none.
size_t skip_json_string(std::string_view text, size_t at);

}  // namespace cantilever
