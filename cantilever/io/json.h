#pragma once

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

namespace cantilever {

// Key order is kept: a config that is read and written again looks the same.
using Json = nlohmann::ordered_json;

// Parses text; `where` (a path, or a path and line) starts the message of the Error. A UTF-8 byte
// order mark is skipped; nesting beyond 512 levels is an Error.
Json parse_json(std::string_view text, const std::string& where);
Json read_json(const std::filesystem::path& path);

// As Python's json.dumps(value, indent=indent, sort_keys=sort_keys, ensure_ascii=False): the same
// bytes for the same value, floats in Python's repr, NaN and Infinity as those words. indent < 0: one
// line with ", " and ": ".
std::string dump_json(const Json& value, int indent = 2, bool sort_keys = false,
                      bool ensure_ascii = false);
void write_json(const std::filesystem::path& path, const Json& value, int indent = 2,
                bool sort_keys = false, bool final_newline = true);

// A member with a named error when it is missing or of another type.
template <class T>
T json_value(const Json& object, const std::string& key, const T& fallback, const std::string& where);

}  // namespace cantilever

#include "cantilever/io/json-inl.h"
