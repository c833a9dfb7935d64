#pragma once

#include <string_view>

#include "cantilever/io/json.h"

namespace cantilever {

// Writes text to standard output at once. When the reader has gone (a closed pipe, as in `| head`)
// the rest is dropped quietly; any other failure (a full disk) throws Error.
void print(std::string_view text);

// A report as one line of JSON, or as indented lines for people.
void show_json(const Json& report, bool as_json);

}  // namespace cantilever
