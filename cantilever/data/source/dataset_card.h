#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace cantilever {

// One entry of `configs:` in the front matter of a data set's README.md.
struct CardConfig {
  std::string name = "default";
  std::string data_dir;
  // Split and patterns of its files; empty: found by the usual rules.
  std::vector<std::pair<std::string, std::vector<std::string>>> data_files;
  bool is_default = false;
  std::vector<std::string> unknown_keys;  // that would matter, but are not understood
};

// The configurations of a README.md. Of YAML the simple part is read: blocks of mappings and lists,
// plain and quoted scalars, lists in brackets. Empty when there is no README.md, no front matter or
// no `configs:`. Throws Error (file and line) when `configs:` is there and not understood.
std::vector<CardConfig> read_card_configs(const std::filesystem::path& readme);
std::vector<CardConfig> parse_card_configs(std::string_view text, const std::string& file);

}  // namespace cantilever
