#pragma once

#include <filesystem>
#include <string_view>

#include "cantilever/io/json.h"

namespace cantilever {

bool is_args_file(const std::string& word);  // ends in .json, .yaml or .yml

// The flags of a file as an object. YAML is read as far as flags need it: one `key: value` a line,
// plain or quoted scalars, lists ([a, b] or `- a` lines), comments. Everything else of YAML (nested
// keys, anchors, tags, block texts) is a UsageError with line number.
Json read_args_file(const std::filesystem::path& path);
Json parse_flat_yaml(std::string_view text, const std::string& where);

}  // namespace cantilever
