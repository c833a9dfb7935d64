#include "cantilever/cli/args_file.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <string>
#include <vector>

#include "cantilever/base/error.h"
#include "cantilever/base/file.h"

namespace cantilever {
namespace {

std::string_view trim(std::string_view text) {
  const size_t begin = text.find_first_not_of(" \t\r");
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(" \t\r") - begin + 1);
}

class FlatYaml {
 public:
  FlatYaml(std::string_view text, std::string where) : text_(text), where_(std::move(where)) {}

  Json parse() {
    while (!text_.empty()) {
      ++line_;
      const size_t end = std::min(text_.find('\n'), text_.size());
      const std::string_view line = text_.substr(0, end);
      text_.remove_prefix(std::min(end + 1, text_.size()));
      read_line(line);
    }
    return std::move(out_);
  }

 private:
  [[noreturn]] void fail(const std::string& what) const {
    throw UsageError(concat(where_, " line ", line_, ": ", what,
                            "; a file of flags has one `key: value` a line (or use .json)"));
  }

  void read_line(std::string_view line) {
    const std::string_view content = trim(line);
    if (content.empty() || content[0] == '#') return;
    if (content == "---" && out_.empty()) return;
    if (content.starts_with("- ") || content == "-") return read_item(trim(content.substr(1)));
    if (line[0] == ' ' || line[0] == '\t') fail("nested keys are not read here");
    const size_t colon = find_colon(content);
    const Json name = scalar(trim(content.substr(0, colon)));
    const std::string key = name.is_string() ? name.get<std::string>() : "";
    if (key.empty()) fail(concat("the key ", quoted(std::string(content)), " is no flag's name"));
    if (out_.contains(key)) fail(concat("the key ", quoted(key), " stands twice"));
    out_[key] = value(trim(content.substr(colon + 1)));
    open_list_ = out_[key].is_null() ? key : "";
  }

  size_t find_colon(std::string_view content) const {
    for (size_t at = content.find(':'); at != std::string_view::npos;
         at = content.find(':', at + 1)) {
      if (at + 1 == content.size() || content[at + 1] == ' ' || content[at + 1] == '\t') return at;
    }
    fail(concat(quoted(std::string(content)), " is no `key: value`"));
  }

  void read_item(std::string_view content) {
    if (open_list_.empty()) fail("a list item without a key above it");
    if (!out_[open_list_].is_array()) out_[open_list_] = Json::array();
    out_[open_list_].push_back(scalar(without_comment(content)));
  }

  static std::string_view without_comment(std::string_view content) {
    char quote = 0;
    for (size_t i = 0; i < content.size(); ++i) {
      if (quote != 0) {
        if (content[i] == '\\' && quote == '"') {
          ++i;
        } else if (content[i] == quote) {
          quote = 0;
        }
      } else if (i == 0 && (content[i] == '"' || content[i] == '\'')) {
        quote = content[i];
      } else if (content[i] == '#' && (i == 0 || content[i - 1] == ' ' || content[i - 1] == '\t')) {
        return trim(content.substr(0, i));
      }
    }
    return trim(content);
  }

  Json value(std::string_view content) {
    content = without_comment(content);
    if (content.starts_with("{")) return parse_json(content, concat(where_, " line ", line_));
    if (!content.starts_with("[")) return scalar(content);
    if (!content.ends_with("]")) fail("a list in brackets ends on the same line");
    Json list = Json::array();
    std::string_view rest = trim(content.substr(1, content.size() - 2));
    while (!rest.empty()) {
      size_t end = rest.find(',');
      if (rest[0] == '"' || rest[0] == '\'') {
        const size_t close = rest.find(rest[0], 1);
        if (close == std::string_view::npos) fail("a quote is not closed");
        end = rest.find(',', close);
      }
      list.push_back(scalar(trim(rest.substr(0, end))));
      rest = end == std::string_view::npos ? "" : trim(rest.substr(end + 1));
    }
    return list;
  }

  Json scalar(std::string_view word) const {
    if (word.empty() || word == "~" || word == "null" || word == "Null" || word == "NULL") {
      return nullptr;
    }
    if (word[0] == '"') {
      const Json text = parse_json(word, concat(where_, " line ", line_));
      if (!text.is_string()) fail("a quoted text is not closed");
      return text;
    }
    if (word[0] == '\'') return single_quoted(word);
    if (std::string_view("&*!|>%@`{").find(word[0]) != std::string_view::npos) {
      fail(concat(quoted(std::string(word)), " begins with ", word[0],
                  ", which means something in YAML that is not read here; put it in quotes"));
    }
    for (const char* yes : {"true", "True", "TRUE", "yes", "Yes", "YES", "on", "On", "ON"}) {
      if (word == yes) return true;
    }
    for (const char* no : {"false", "False", "FALSE", "no", "No", "NO", "off", "Off", "OFF"}) {
      if (word == no) return false;
    }
    // Numbers stay words: the flag knows what it wants, and "1e-5" is a text for YAML 1.1 anyway.
    return std::string(word);
  }

  Json single_quoted(std::string_view word) const {
    std::string text;
    size_t i = 1;
    for (; i < word.size(); ++i) {
      if (word[i] == '\'' && i + 1 < word.size() && word[i + 1] == '\'') {
        ++i;
      } else if (word[i] == '\'') {
        break;
      }
      text += word[i];
    }
    if (i + 1 != word.size()) fail("a quoted text is not closed, or goes on behind its quote");
    return text;
  }

  std::string_view text_;
  std::string where_;
  int line_ = 0;
  Json out_ = Json::object();
  std::string open_list_;
};

}  // namespace

bool is_args_file(const std::string& word) {
  return word.ends_with(".json") || word.ends_with(".yaml") || word.ends_with(".yml");
}

Json parse_flat_yaml(std::string_view text, const std::string& where) {
  if (text.starts_with("\xef\xbb\xbf")) text.remove_prefix(3);
  return FlatYaml(text, where).parse();
}

Json read_args_file(const std::filesystem::path& path) {
  const std::string text = read_file(path);
  if (path.extension() != ".json") return parse_flat_yaml(text, path.string());
  Json flags = parse_json(text, path.string());
  if (!flags.is_object()) {
    throw UsageError(concat(path.string(), ": a file of flags is a JSON object {\"flag\": value}"));
  }
  return flags;
}

}  // namespace cantilever
