#pragma once

#include <string_view>

namespace cantilever {

// Writes text to standard output at once. When the reader has gone (a closed pipe, as in `| head`)
// the rest is dropped quietly; any other failure (a full disk) throws Error.
void print(std::string_view text);

}  // namespace cantilever
