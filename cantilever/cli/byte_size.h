#pragma once

#include <cstdint>
#include <string>

namespace cantilever {

// Bytes of "1000000", "500MB" (10^6), "1.5GiB" (2^30); KB, MB, GB, TB and KiB, MiB, GiB, TiB in any
// case. Throws UsageError, whose text starts with `where`, for anything else and for 0.
int64_t parse_byte_size(const std::string& text, const std::string& where);

}  // namespace cantilever
