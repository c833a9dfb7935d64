#include "cantilever/data/source/file_patterns.h"

#include <algorithm>
#include <charconv>
#include <cstdint>

#include "cantilever/base/error.h"

namespace cantilever {
namespace {

namespace fs = std::filesystem;

constexpr size_t kMostFiles = 100000;

// Whether [...] at `at` of the pattern holds `byte`; `end` is set behind it. A bracket that does
// not close stands for itself.
bool fits_class(std::string_view pattern, size_t at, char byte, size_t& end) {
  const size_t close = pattern.find(']', at + 2);
  if (close == pattern.npos) {
    end = at + 1;
    return byte == '[';
  }
  end = close + 1;
  std::string_view set = pattern.substr(at + 1, close - at - 1);
  const bool inverted = set.starts_with('!') || set.starts_with('^');
  if (inverted) set.remove_prefix(1);
  bool found = false;
  for (size_t i = 0; i < set.size(); ++i) {
    if (i + 2 < set.size() && set[i + 1] == '-') {
      found = found || (set[i] <= byte && byte <= set[i + 2]);
      i += 2;
    } else {
      found = found || set[i] == byte;
    }
  }
  return found != inverted;
}

// One name against a pattern without slashes. Without recursion: the last * may take more.
bool fits_name(std::string_view name, std::string_view pattern) {
  size_t at = 0;
  size_t p = 0;
  size_t star = pattern.npos;
  size_t resume = 0;
  while (at < name.size()) {
    size_t end = p + 1;
    bool fits = false;
    if (p < pattern.size()) {
      if (pattern[p] == '*') {
        star = p++;
        resume = at;
        continue;
      }
      fits = pattern[p] == '?' ||
             (pattern[p] == '[' ? fits_class(pattern, p, name[at], end) : pattern[p] == name[at]);
    }
    if (fits) {
      ++at;
      p = end;
    } else if (star != pattern.npos) {
      p = star + 1;
      at = ++resume;
    } else {
      return false;
    }
  }
  while (p < pattern.size() && pattern[p] == '*') ++p;
  return p == pattern.size();
}

std::vector<std::string_view> split_path(std::string_view path) {
  std::vector<std::string_view> parts;
  for (size_t at = 0; at <= path.size();) {
    const size_t end = std::min(path.find('/', at), path.size());
    const std::string_view part = path.substr(at, end - at);
    if (!part.empty() && part != ".") parts.push_back(part);
    at = end + 1;
  }
  return parts;
}

// "00000..00012" or "a,b"; empty when it is neither.
std::vector<std::string> brace_values(std::string_view inside) {
  std::vector<std::string> values;
  const size_t dots = inside.find("..");
  if (dots != inside.npos) {
    const std::string_view first = inside.substr(0, dots);
    const std::string_view last = inside.substr(dots + 2);
    uint64_t from = 0;
    uint64_t to = 0;
    const auto number = [](std::string_view text, uint64_t& value) {
      const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
      return error == std::errc() && end == text.data() + text.size();
    };
    if (!number(first, from) || !number(last, to)) return values;
    CANTILEVER_CHECK(std::max(from, to) - std::min(from, to) < kMostFiles, "the range {",
                     std::string(inside), "} means more than ", kMostFiles, " files");
    const bool padded =
        (first.size() > 1 && first[0] == '0') || (last.size() > 1 && last[0] == '0');
    const size_t width = padded ? std::max(first.size(), last.size()) : 0;
    for (uint64_t i = from;; from <= to ? ++i : --i) {
      std::string digits = std::to_string(i);
      if (digits.size() < width) digits.insert(0, width - digits.size(), '0');
      values.push_back(std::move(digits));
      if (i == to) return values;
    }
  }
  if (inside.find(',') == inside.npos) return values;
  for (size_t at = 0; at <= inside.size();) {
    const size_t end = std::min(inside.find(',', at), inside.size());
    values.emplace_back(inside.substr(at, end - at));
    at = end + 1;
  }
  return values;
}

void expand_one(const std::string& text, std::vector<std::string>& out) {
  for (size_t open = text.find('{'); open != text.npos; open = text.find('{', open + 1)) {
    const size_t close = text.find('}', open);
    if (close == text.npos) break;
    const auto values = brace_values(std::string_view(text).substr(open + 1, close - open - 1));
    if (values.empty()) continue;
    for (const std::string& value : values) {
      expand_one(concat(text.substr(0, open), value, text.substr(close + 1)), out);
    }
    return;
  }
  CANTILEVER_CHECK(out.size() < kMostFiles, "a pattern means more than ", kMostFiles, " files");
  out.push_back(text);
}

}  // namespace

bool has_wildcards(std::string_view text) {
  return text.find_first_of("*?[") != text.npos;
}

bool fits_pattern(std::string_view path, std::string_view pattern) {
  const std::vector<std::string_view> names = split_path(path);
  const std::vector<std::string_view> parts = split_path(pattern);
  // fits[j]: the first i parts fit the first j names.
  std::vector<bool> fits(names.size() + 1);
  fits[0] = true;
  for (const std::string_view part : parts) {
    std::vector<bool> next(names.size() + 1);
    for (size_t j = 0; j <= names.size(); ++j) {
      if (part == "**") {
        next[j] = fits[j] || (j > 0 && next[j - 1]);
      } else {
        next[j] = j > 0 && fits[j - 1] && fits_name(names[j - 1], part);
      }
    }
    fits = std::move(next);
  }
  return fits[names.size()];
}

std::vector<std::string> expand_braces(const std::string& text) {
  std::vector<std::string> out;
  for (size_t at = 0; at <= text.size();) {
    const size_t end = std::min(text.find("::", at), text.size());
    expand_one(text.substr(at, end - at), out);
    at = end + 2;
  }
  return out;
}

std::vector<fs::path> expand_files(const std::string& text) {
  std::error_code ignored;
  if (fs::exists(text, ignored)) return {text};
  const std::vector<std::string> texts = expand_braces(text);
  std::vector<fs::path> files;
  std::vector<std::string> missing;
  for (const std::string& one : texts) {
    if (fs::exists(one, ignored)) {
      files.emplace_back(one);
      continue;
    }
    const fs::path path(one);
    std::vector<fs::path> found;
    if (has_wildcards(path.filename().string())) {
      const fs::path folder = path.parent_path().empty() ? fs::path(".") : path.parent_path();
      std::error_code error;
      for (fs::directory_iterator entry(folder, error); !error && entry != fs::directory_iterator();
           entry.increment(error)) {
        const std::string name = entry->path().filename().string();
        if (!name.starts_with(".") && fits_name(name, path.filename().string())) {
          found.push_back(path.parent_path() / name);
        }
      }
    }
    if (found.empty()) missing.push_back(one);
    std::sort(found.begin(), found.end());
    files.insert(files.end(), found.begin(), found.end());
  }
  if (!missing.empty()) {
    const size_t others = missing.size() - 1;
    throw_error(concat(missing.front(),
                       missing.front() == text ? "" : concat(" (of ", quoted(text, 200), ")"),
                       others > 0 ? concat(" and ", others, " others do") : " does", " not exist"));
  }
  return files;
}

}  // namespace cantilever
