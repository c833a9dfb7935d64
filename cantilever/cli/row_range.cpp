#include "cantilever/cli/row_range.h"

#include <algorithm>
#include <charconv>
#include <string_view>

#include "cantilever/base/error.h"

namespace cantilever {
namespace {

int64_t number(std::string_view word, int64_t fallback, const std::string& text) {
  if (word.empty()) return fallback;
  int64_t value = 0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
  if (error != std::errc() || end != word.data() + word.size() || value < 0) {
    throw UsageError(concat("--rows: ", quoted(text),
                            " is no list of rows; expected 0:4, 7 or 0:4,7,20:24 (ends excluded)"));
  }
  return value;
}

void append(std::string_view part, int64_t size, const std::string& text,
            std::vector<int64_t>& rows) {
  const size_t colon = part.find(':');
  if (colon == std::string_view::npos) {
    const int64_t row = number(part, -1, text);
    if (row < 0 || row >= size) {
      throw UsageError(concat("--rows: there is no row ", quoted(std::string(part)),
                              "; the split has ", size, " rows, from 0"));
    }
    return rows.push_back(row);
  }
  const int64_t begin = number(part.substr(0, colon), 0, text);
  const int64_t end = std::min(number(part.substr(colon + 1), size, text), size);
  for (int64_t row = begin; row < end; ++row) rows.push_back(row);
}

}  // namespace

std::vector<int64_t> parse_rows(const std::string& text, int64_t size) {
  std::vector<int64_t> rows;
  std::string_view rest = text.empty() ? std::string_view(":") : std::string_view(text);
  for (;;) {
    const size_t comma = rest.find(',');
    append(rest.substr(0, comma), size, text, rows);
    if (comma == std::string_view::npos) return rows;
    rest.remove_prefix(comma + 1);
  }
}

}  // namespace cantilever
