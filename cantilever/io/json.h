#pragma once

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

namespace cantilever {

// Key order is kept: a config that is read and written again looks the same. Looking a key up walks
// the whole object; iterate over large ones (a vocabulary).
using Json = nlohmann::ordered_json;

enum class DuplicateKeys { kLastWins, kRefuse };

// Parses text as Python's json.loads does; `where` (a path, or a path and line) starts the message
// of the Error. A UTF-8 byte order mark is skipped; NaN, Infinity and -Infinity are numbers; of
// equal keys the last wins unless `duplicates` says otherwise; nesting beyond 512 levels is an
// Error. An integer beyond 64 bits becomes the nearest double. Stricter than Python: numbers beyond
// double (1e400) and half surrogate pairs ("\ud83d" alone) are an Error.
Json parse_json(std::string_view text, const std::string& where,
                DuplicateKeys duplicates = DuplicateKeys::kLastWins);
Json read_json(const std::filesystem::path& path);

// As Python's json.dumps(value, indent=indent, sort_keys=sort_keys, ensure_ascii=ensure_ascii): the
// same bytes for the same value, floats in Python's repr, NaN and Infinity as those words. indent <
// 0: one line with ", " and ": ". Bytes that are not UTF-8 become U+FFFD.
std::string dump_json(const Json& value, int indent = 2, bool sort_keys = false,
                      bool ensure_ascii = false);
void write_json(const std::filesystem::path& path, const Json& value, int indent = 2,
                bool sort_keys = false, bool final_newline = true);

// A member, or `fallback` when it is missing or null. An Error that names `where`, key and value
// when it is of another type: no number is cut to fit (1.5, -1 or 2^40 for an int32_t), a boolean
// is no number; 3.0 is an integer.
template <class T>
T json_value(const Json& object, const std::string& key, const T& fallback,
             const std::string& where);

}  // namespace cantilever

#include "cantilever/io/json-inl.h"
