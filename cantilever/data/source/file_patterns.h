#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace cantilever {

// Whether `path` fits a pattern as in a shell: * and ? within a name, [abc] and [!a-c], ** for any
// number of folders.
bool fits_pattern(std::string_view path, std::string_view pattern);
bool has_wildcards(std::string_view text);

// "x/{00000..00012}.tar" and "{a,b}.tar" as a shell (and open_clip) expands them, several patterns
// joined by "::", in their order. A text without braces is itself. Throws Error for a range of more
// than a hundred thousand files.
std::vector<std::string> expand_braces(const std::string& text);

// The files that a path, a pattern of braces or wildcards means; the path itself when it exists.
// Throws Error when one of them is not there.
std::vector<std::filesystem::path> expand_files(const std::string& text);

}  // namespace cantilever
