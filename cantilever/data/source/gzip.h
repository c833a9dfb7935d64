#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace cantilever {

bool is_gzip(std::string_view bytes);

// What the gzip members of `bytes` unpack to, one after the other. Throws Error that starts with
// `where` when they are damaged or cut off, or would be more than `limit` bytes.
std::string unpack_gzip(std::string_view bytes, size_t limit, const std::string& where);

}  // namespace cantilever
