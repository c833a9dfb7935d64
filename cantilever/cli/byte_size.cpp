#include "cantilever/cli/byte_size.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cmath>
#include <map>

#include "cantilever/base/error.h"

namespace cantilever {

int64_t parse_byte_size(const std::string& text, const std::string& where) {
  static const std::map<std::string, double> kUnits = {
      {"", 1},      {"b", 1},        {"kb", 1e3},     {"mb", 1e6},     {"gb", 1e9},
      {"tb", 1e12}, {"kib", 0x1p10}, {"mib", 0x1p20}, {"gib", 0x1p30}, {"tib", 0x1p40}};
  constexpr double kMost = 0x1p60;
  double number = 0;
  const char* end = text.data() + text.size();
  const auto [behind, error] = std::from_chars(text.data(), end, number);
  std::string unit(behind, end);
  unit.erase(0, std::min(unit.find_first_not_of(' '), unit.size()));
  std::transform(unit.begin(), unit.end(), unit.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  const auto found = kUnits.find(unit);
  const double bytes = found == kUnits.end() ? 0 : number * found->second;
  if (error != std::errc() || !(bytes >= 1 && bytes <= kMost)) {
    throw UsageError(concat(where, ": ", quoted(text),
                            " is not a number of bytes, such as 1000000, 500MB or 8GiB"));
  }
  return static_cast<int64_t>(std::floor(bytes));
}

}  // namespace cantilever
