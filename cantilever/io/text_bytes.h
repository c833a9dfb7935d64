#pragma once

// Text as other programs want it. Used by the .cpp files of this room only.

#include <string>
#include <string_view>

namespace cantilever {

// Appends `text` as a JSON string in quotes, escaped as Python's json module does it (ensure_ascii:
// everything outside printable ASCII as \uXXXX, beyond U+FFFF as a surrogate pair). Bytes that are
// not UTF-8 become U+FFFD.
void append_json_string(std::string& out, std::string_view text, bool ensure_ascii);

// Every maximal piece that is not UTF-8 becomes one U+FFFD, as Python's decode(errors="replace").
std::string replace_invalid_utf8(std::string_view text);

}  // namespace cantilever
