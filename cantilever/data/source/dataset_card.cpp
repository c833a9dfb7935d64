#include "cantilever/data/source/dataset_card.h"

#include <algorithm>

#include "cantilever/base/error.h"
#include "cantilever/base/file.h"

namespace cantilever {
namespace {

struct Line {
  size_t indent = 0;
  std::string text;
  int64_t number = 0;
};

struct Member;

struct Node {
  enum class Kind { kScalar, kList, kMap };

  Kind kind = Kind::kScalar;
  std::string scalar;
  std::vector<Node> items;
  std::vector<Member> members;
  int64_t line = 0;
};

struct Member {
  std::string name;
  Node value;
};

std::string trim(std::string_view text) {
  const size_t first = text.find_first_not_of(" \t\r");
  if (first == text.npos) return "";
  return std::string(text.substr(first, text.find_last_not_of(" \t\r") + 1 - first));
}

// Without a comment: a # at the start or behind a blank, outside quotes.
std::string without_comment(std::string_view text) {
  char quote = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    if (quote != 0) {
      if (text[i] == quote) quote = 0;
    } else if (text[i] == '"' || text[i] == '\'') {
      quote = text[i];
    } else if (text[i] == '#' && (i == 0 || text[i - 1] == ' ')) {
      return std::string(text.substr(0, i));
    }
  }
  return std::string(text);
}

// The lines of `configs:` in the front matter, without the key itself.
std::vector<Line> config_lines(std::string_view text) {
  std::vector<Line> lines;
  if (text.starts_with("\xef\xbb\xbf")) text.remove_prefix(3);
  if (!text.starts_with("---")) return lines;
  int64_t number = 0;
  bool within = false;
  for (size_t at = 0; at < text.size();) {
    const size_t end = std::min(text.find('\n', at), text.size());
    const std::string line = without_comment(text.substr(at, end - at));
    at = end + 1;
    if (++number == 1) continue;
    const std::string content = trim(line);
    if (content == "---" || content == "...") break;
    if (content.empty()) continue;
    const size_t indent = line.find_first_not_of(' ');
    // A list may stand at the indent of its key.
    if (indent == 0 && !content.starts_with("-")) {
      within = content.starts_with("configs:");
      const std::string rest = within ? trim(content.substr(8)) : "";
      if (!rest.empty()) lines.push_back({1, rest, number});
      continue;
    }
    if (within) lines.push_back({indent + 1, content, number});
  }
  return lines;
}

class YamlParser {
 public:
  YamlParser(std::vector<Line> lines, std::string file)
      : lines_(std::move(lines)), file_(std::move(file)) {}

  Node parse() {
    Node node = block(lines_.front().indent, 0);
    check(at_ == lines_.size(), "its indent fits nothing");
    return node;
  }

 private:
  void check(bool good, const char* what) const {
    const Line& line = lines_[std::min(at_, lines_.size() - 1)];
    CANTILEVER_CHECK(good, file_, ", line ", line.number, ": ", quoted(line.text),
                     " is not understood (", what,
                     "); pass the files with --train_file, --validation_file, --test_file");
  }

  static bool is_item(const std::string& text) { return text == "-" || text.starts_with("- "); }

  // Where the ": " behind a key stands; npos when the text is no member.
  static size_t colon_of(const std::string& text) {
    if (text.front() == '"' || text.front() == '\'') {
      const size_t close = text.find(text.front(), 1);
      return close != text.npos && close + 1 < text.size() && text[close + 1] == ':' ? close + 1
                                                                                     : text.npos;
    }
    if (text.back() == ':' && text.find(": ") == text.npos) return text.size() - 1;
    return text.find(": ");
  }

  Node block(size_t indent, int depth) {
    check(depth < 20, "nested too deeply");
    Node node;
    node.line = lines_[at_].number;
    if (is_item(lines_[at_].text)) {
      node.kind = Node::Kind::kList;
      while (at_ < lines_.size() && lines_[at_].indent == indent && is_item(lines_[at_].text)) {
        node.items.push_back(item(indent, depth));
      }
    } else if (colon_of(lines_[at_].text) != std::string::npos) {
      node.kind = Node::Kind::kMap;
      while (at_ < lines_.size() && lines_[at_].indent == indent && !is_item(lines_[at_].text)) {
        member(indent, depth, node);
      }
    } else {
      node = scalar(lines_[at_++].text);
    }
    check(at_ >= lines_.size() || lines_[at_].indent <= indent, "it is indented too far");
    return node;
  }

  Node item(size_t indent, int depth) {
    Line& line = lines_[at_];
    const size_t rest = line.text.find_first_not_of(' ', 1);
    if (rest == std::string::npos) {
      ++at_;
      check(at_ < lines_.size() && lines_[at_].indent > indent, "an item without a value");
      return block(lines_[at_].indent, depth + 1);
    }
    // What follows the dash is a block that starts where it stands.
    line.indent += rest;
    line.text.erase(0, rest);
    return block(line.indent, depth + 1);
  }

  void member(size_t indent, int depth, Node& map) {
    const std::string text = lines_[at_].text;
    const size_t colon = colon_of(text);
    check(colon != std::string::npos, "neither a key nor an item");
    const std::string key = scalar(text.substr(0, colon)).scalar;
    const std::string rest = trim(text.substr(colon + 1));
    const int64_t number = lines_[at_].number;
    Node value;
    if (!rest.empty()) {
      value = scalar(rest);
      ++at_;
    } else {
      ++at_;
      const bool deeper =
          at_ < lines_.size() && (lines_[at_].indent > indent ||
                                  (lines_[at_].indent == indent && is_item(lines_[at_].text)));
      if (deeper) value = block(lines_[at_].indent, depth + 1);
    }
    value.line = number;
    map.members.push_back({key, std::move(value)});
  }

  // A scalar, or a list in brackets.
  Node scalar(const std::string& text) const {
    Node node;
    node.line = lines_[std::min(at_, lines_.size() - 1)].number;
    const char first = text.front();
    if (first == '[') {
      check(text.back() == ']', "a list that goes over several lines");
      node.kind = Node::Kind::kList;
      const std::string inside = text.substr(1, text.size() - 2);
      check(inside.find_first_of("[]{}") == std::string::npos, "a list within a list");
      for (size_t at = 0; at < inside.size();) {
        const size_t end = std::min(inside.find(',', at), inside.size());
        const std::string part = trim(inside.substr(at, end - at));
        if (!part.empty()) node.items.push_back(scalar(part));
        at = end + 1;
      }
      return node;
    }
    check(std::string_view("{&*!|>%@`").find(first) == std::string_view::npos || first == '*',
          "only the simple part of YAML is");
    if (first == '"' || first == '\'') {
      check(text.size() >= 2 && text.back() == first, "a quote that does not close");
      node.scalar = text.substr(1, text.size() - 2);
      check(first == '\'' || node.scalar.find('\\') == std::string::npos, "an escape");
    } else {
      node.scalar = text;
    }
    return node;
  }

  std::vector<Line> lines_;
  std::string file_;
  size_t at_ = 0;
};

class CardReader {
 public:
  explicit CardReader(std::string file) : file_(std::move(file)) {}

  CardConfig config(const Node& node) const {
    check(node.kind == Node::Kind::kMap, node, "a configuration has keys");
    CardConfig config;
    for (const auto& [key, value] : node.members) {
      if (key == "config_name") {
        config.name = text(value);
      } else if (key == "data_dir") {
        config.data_dir = text(value);
      } else if (key == "default") {
        config.is_default = text(value) == "true" || text(value) == "True";
      } else if (key == "data_files") {
        data_files(value, config);
      } else if (key != "features" && key != "description" && key != "version") {
        config.unknown_keys.push_back(key);
      }
    }
    return config;
  }

 private:
  void check(bool good, const Node& node, const char* what) const {
    CANTILEVER_CHECK(good, file_, ", line ", node.line, ": `configs:` is not understood (", what,
                     "); pass the files with --train_file, --validation_file, --test_file");
  }

  std::string text(const Node& node) const {
    check(node.kind == Node::Kind::kScalar, node, "one text should stand here");
    return node.scalar;
  }

  std::vector<std::string> patterns(const Node& node) const {
    if (node.kind == Node::Kind::kScalar) return {node.scalar};
    check(node.kind == Node::Kind::kList, node, "a path or a list of paths should stand here");
    std::vector<std::string> all;
    for (const Node& item : node.items) all.push_back(text(item));
    return all;
  }

  // A pattern, a list of them (both: train), a list of {split, path}, or a mapping from split to
  // patterns.
  void data_files(const Node& node, CardConfig& config) const {
    if (node.kind == Node::Kind::kMap) {
      for (const auto& [split, value] : node.members) {
        config.data_files.emplace_back(split, patterns(value));
      }
      return;
    }
    const bool by_split = node.kind == Node::Kind::kList && !node.items.empty() &&
                          node.items.front().kind == Node::Kind::kMap;
    if (!by_split) {
      config.data_files.emplace_back("train", patterns(node));
      return;
    }
    for (const Node& item : node.items) {
      check(item.kind == Node::Kind::kMap, item, "split and path should stand here");
      std::string split = "train";
      std::vector<std::string> paths;
      for (const auto& [key, value] : item.members) {
        if (key == "split") split = text(value);
        if (key == "path") paths = patterns(value);
      }
      check(!paths.empty(), item, "a split without a path");
      config.data_files.emplace_back(split, std::move(paths));
    }
  }

  std::string file_;
};

}  // namespace

std::vector<CardConfig> parse_card_configs(std::string_view text, const std::string& file) {
  std::vector<CardConfig> configs;
  std::vector<Line> lines = config_lines(text);
  if (lines.empty()) return configs;
  const Node root = YamlParser(std::move(lines), file).parse();
  CANTILEVER_CHECK(root.kind == Node::Kind::kList, file, ", line ", root.line,
                   ": `configs:` is no list of configurations");
  const CardReader reader(file);
  for (const Node& node : root.items) configs.push_back(reader.config(node));
  return configs;
}

std::vector<CardConfig> read_card_configs(const std::filesystem::path& readme) {
  std::error_code ignored;
  if (!std::filesystem::is_regular_file(readme, ignored)) return {};
  const MappedFile mapped(readme);
  return parse_card_configs(mapped.text(), readme.string());
}

}  // namespace cantilever
