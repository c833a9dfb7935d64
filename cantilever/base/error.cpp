#include "cantilever/base/error.h"

#include <algorithm>
#include <cstdio>

namespace cantilever {
namespace {

// Damerau's distance with swapped neighbours as one edit (optimal string alignment).
size_t edit_distance(const std::string& a, const std::string& b) {
  std::vector<std::vector<size_t>> d(a.size() + 1, std::vector<size_t>(b.size() + 1));
  for (size_t i = 0; i <= a.size(); ++i) d[i][0] = i;
  for (size_t j = 0; j <= b.size(); ++j) d[0][j] = j;
  for (size_t i = 1; i <= a.size(); ++i) {
    for (size_t j = 1; j <= b.size(); ++j) {
      const size_t substitute = d[i - 1][j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      d[i][j] = std::min({d[i - 1][j] + 1, d[i][j - 1] + 1, substitute});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
        d[i][j] = std::min(d[i][j], d[i - 2][j - 2] + 1);
      }
    }
  }
  return d[a.size()][b.size()];
}

std::string lower(std::string text) {
  for (char& c : text) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return text;
}

}  // namespace

std::string quoted(const std::string& value, size_t limit) {
  std::string out = "'";
  for (size_t i = 0; i < value.size() && i < limit; ++i) {
    const auto byte = static_cast<unsigned char>(value[i]);
    if (byte < 0x20 || byte == 0x7f) {
      char escaped[5];
      std::snprintf(escaped, sizeof escaped, "\\x%02x", byte);
      out += escaped;
    } else {
      out += value[i];
    }
  }
  out += value.size() > limit ? "...'" : "'";
  return out;
}

std::string nearest_name(const std::string& name, const std::vector<std::string>& candidates) {
  // Case is the commonest slip ("Caption" for "caption"), so it costs nothing here.
  std::string best;
  size_t best_distance = std::max<size_t>(1, name.size() / 3) + 1;
  for (const std::string& candidate : candidates) {
    const size_t distance = edit_distance(lower(name), lower(candidate));
    if (distance < best_distance) {
      best_distance = distance;
      best = candidate;
    }
  }
  return best;
}

void throw_error(const std::string& message) {
  throw Error(message);
}

void throw_internal_error(const char* file, int line, const char* condition,
                          const std::string& message) {
  throw InternalError(concat("internal error at ", file, ":", line, ": ", condition,
                             message.empty() ? "" : ": ", message));
}

}  // namespace cantilever
