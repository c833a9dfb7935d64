#include "cantilever/data/source/json_records.h"

#include <algorithm>
#include <optional>

#include "cantilever/base/error.h"
#include "cantilever/data/source/record_source.h"
#include "cantilever/io/json.h"

namespace cantilever {
namespace {

constexpr std::string_view kBlank = " \t\r\n";

size_t skip_blank(std::string_view text, size_t at) {
  return std::min(text.find_first_not_of(kBlank, at), text.size());
}

// The offset behind the string that starts at `at`; npos when it does not end.
size_t skip_string(std::string_view text, size_t at) {
  for (size_t i = at + 1; i < text.size(); ++i) {
    if (text[i] == '\\') {
      ++i;
    } else if (text[i] == '"') {
      return i + 1;
    }
  }
  return std::string_view::npos;
}

// The offset behind the value that starts at `at`, by counting brackets; npos when it does not end.
size_t skip_value(std::string_view text, size_t at) {
  if (at >= text.size()) return std::string_view::npos;
  if (text[at] == '"') return skip_string(text, at);
  if (text[at] != '{' && text[at] != '[') {
    return std::min(text.find_first_of(" \t\r\n,]}", at), text.size());
  }
  size_t depth = 0;
  for (size_t i = at; i < text.size();) {
    const char byte = text[i];
    if (byte == '"') {
      i = skip_string(text, i);
      if (i == std::string_view::npos) return i;
      continue;
    }
    if (byte == '{' || byte == '[') ++depth;
    if ((byte == '}' || byte == ']') && --depth == 0) return i + 1;
    ++i;
  }
  return std::string_view::npos;
}

std::vector<Span> find_lines(std::string_view text, size_t start) {
  std::vector<Span> lines;
  for (size_t at = start; at < text.size();) {
    const size_t end = std::min(text.find('\n', at), text.size());
    const size_t first = text.find_first_not_of(kBlank, at);
    if (first < end) lines.push_back({at, end});
    at = end + 1;
  }
  return lines;
}

struct Member {
  std::string key;
  size_t value = 0;  // offset
};

struct Members {
  std::vector<Member> list;
  size_t end = 0;  // behind the object
};

// The members of the object at `open`; nullopt when it is not well-formed.
std::optional<Members> find_members(std::string_view text, size_t open) {
  Members members;
  size_t at = skip_blank(text, open + 1);
  while (at < text.size() && text[at] == '"') {
    const size_t key_end = skip_string(text, at);
    if (key_end == std::string_view::npos) return std::nullopt;
    const size_t colon = skip_blank(text, key_end);
    if (colon >= text.size() || text[colon] != ':') return std::nullopt;
    const size_t value = skip_blank(text, colon + 1);
    members.list.push_back({std::string(text.substr(at + 1, key_end - at - 2)), value});
    const size_t end = skip_value(text, value);
    if (end == std::string_view::npos || end == value) return std::nullopt;
    at = skip_blank(text, end);
    if (at < text.size() && text[at] == ',') at = skip_blank(text, at + 1);
  }
  if (at >= text.size() || text[at] != '}') return std::nullopt;
  members.end = at + 1;
  return members;
}

// The records of one object that is the whole file.
std::vector<Span> find_in_object(std::string_view text, size_t open, const std::string& file) {
  const std::optional<Members> members = find_members(text, open);
  CANTILEVER_CHECK(members.has_value(), file, ": the JSON object is damaged");
  std::string keys;
  for (const Member& member : members->list) {
    if (member.key == "data" && text[member.value] == '[') {
      return find_json_elements(text, member.value, file);
    }
    keys += concat(keys.empty() ? "" : ", ", quoted(member.key, 40));
  }
  // An object without a list is a set of one row.
  if (std::none_of(members->list.begin(), members->list.end(),
                   [&](const Member& member) { return text[member.value] == '['; })) {
    return {{open, skip_value(text, open)}};
  }
  throw_error(concat(
      file, ": the JSON object has no list of rows under the key 'data'; its keys are ", keys));
}

}  // namespace

std::vector<Span> find_json_elements(std::string_view text, size_t open, const std::string& file) {
  std::vector<Span> elements;
  size_t at = skip_blank(text, open + 1);
  while (at < text.size() && text[at] != ']') {
    const size_t end = skip_value(text, at);
    CANTILEVER_CHECK(end != std::string_view::npos && end > at, file, ", line ",
                     line_number(text, at), ": element ", elements.size(),
                     " of the JSON array does not end; the file is cut off or damaged");
    elements.push_back({at, end});
    at = skip_blank(text, end);
    if (at < text.size() && text[at] == ',') {
      at = skip_blank(text, at + 1);
    } else {
      CANTILEVER_CHECK(at < text.size() && text[at] == ']', file, ", line ",
                       line_number(text, std::min(at, text.size())), ": behind element ",
                       elements.size() - 1,
                       " of the JSON array stands neither a comma nor its end; the file is cut off "
                       "or damaged");
    }
  }
  CANTILEVER_CHECK(at < text.size(), file,
                   ": the JSON array does not end; the file is cut off or damaged");
  return elements;
}

std::optional<std::vector<Span>> find_json_array(std::string_view text, size_t start,
                                                 std::string_view key, const std::string& file) {
  const size_t first = skip_blank(text, start);
  if (first >= text.size() || text[first] != '{') return std::nullopt;
  const std::optional<Members> members = find_members(text, first);
  CANTILEVER_CHECK(members && skip_blank(text, members->end) == text.size(), file,
                   ": the JSON object is damaged or cut off");
  for (const Member& member : members->list) {
    if (member.key == key && text[member.value] == '[') {
      return find_json_elements(text, member.value, file);
    }
  }
  return std::nullopt;
}

size_t end_of_json_value(std::string_view text) {
  return skip_value(text, 0);
}

std::optional<CocoArrays> find_coco_arrays(std::string_view text, size_t start,
                                           const std::string& file) {
  const size_t first = skip_blank(text, start);
  if (first >= text.size() || text[first] != '{') return std::nullopt;
  const std::optional<Members> members = find_members(text, first);
  if (!members || skip_blank(text, members->end) != text.size()) return std::nullopt;
  size_t images = 0;  // no value stands at the start of the file
  size_t annotations = 0;
  for (const Member& member : members->list) {
    if (text[member.value] != '[') continue;
    if (member.key == "images") images = member.value;
    if (member.key == "annotations") annotations = member.value;
  }
  if (images == 0 || annotations == 0) return std::nullopt;
  return CocoArrays{find_json_elements(text, images, file),
                    find_json_elements(text, annotations, file)};
}

std::vector<Span> find_json_records(std::string_view text, size_t start, const std::string& file) {
  const size_t first = skip_blank(text, start);
  if (first >= text.size()) return {};
  if (text[first] == '[') {
    const size_t end = skip_value(text, first);
    CANTILEVER_CHECK(end == std::string_view::npos || skip_blank(text, end) == text.size(), file,
                     ", line ", line_number(text, std::min(end, text.size())),
                     ": something stands behind the end of the JSON array");
    return find_json_elements(text, first, file);
  }
  const size_t line_end = std::min(text.find('\n', first), text.size());
  const size_t value_end = text[first] == '{' ? skip_value(text, first) : std::string_view::npos;
  const bool whole_file =
      value_end != std::string_view::npos && skip_blank(text, value_end) == text.size();
  if (!whole_file) return find_lines(text, start);
  // One object is the whole file: a set of one row, or an object around the rows.
  const std::optional<Members> members = find_members(text, first);
  const bool wraps =
      members.has_value() &&
      std::any_of(members->list.begin(), members->list.end(), [&](const Member& member) {
        return text[member.value] == '[' && text[skip_blank(text, member.value + 1)] == '{';
      });
  if (wraps || value_end > line_end) return find_in_object(text, first, file);
  return find_lines(text, start);
}

}  // namespace cantilever
