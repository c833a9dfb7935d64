#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace cantilever {

// Rows of a split of `size` rows from "0:4" (end excluded), "7", ":", "10:", ":3" and lists of them
// with commas; "" is all. An end beyond the split is cut to it, as in Python. Throws UsageError for
// anything else, and for a single row that is not there.
std::vector<int64_t> parse_rows(const std::string& text, int64_t size);

}  // namespace cantilever
