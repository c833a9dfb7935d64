#include "cantilever/data/source/json_fields.h"

#include <algorithm>
#include <cstdint>
#include <cstring>

namespace cantilever {
namespace {

constexpr size_t kNone = std::string_view::npos;
constexpr int kMaxDepth = 32;

bool is_digit(char byte) {
  return byte >= '0' && byte <= '9';
}

size_t skip_blanks(std::string_view text, size_t at) {
  while (at < text.size() &&
         (text[at] == ' ' || text[at] == '\t' || text[at] == '\r' || text[at] == '\n')) {
    ++at;
  }
  return at;
}

// Whether all eight bytes at `at` stand for themselves: ASCII, no control byte, quote, backslash.
bool eight_plain(const char* at) {
  constexpr uint64_t kOnes = 0x0101010101010101;
  constexpr uint64_t kHigh = 0x8080808080808080;
  uint64_t word = 0;
  std::memcpy(&word, at, sizeof word);
  const auto zero_bytes = [](uint64_t value) { return (value - kOnes) & ~value & kHigh; };
  const uint64_t control = (word - kOnes * 0x20) & ~word & kHigh;
  return ((word & kHigh) | control | zero_bytes(word ^ (kOnes * '"')) |
          zero_bytes(word ^ (kOnes * '\\'))) == 0;
}

// The length of the well-formed UTF-8 sequence (two bytes or more) at `at`; 0 when it is none.
size_t utf8_length(std::string_view text, size_t at) {
  const auto byte = [&](size_t i) {
    return at + i < text.size() ? static_cast<unsigned char>(text[at + i]) : 0U;
  };
  const auto follows = [&](size_t i) { return (byte(i) & 0xC0U) == 0x80U; };
  const unsigned first = byte(0);
  if (first >= 0xC2 && first <= 0xDF) return follows(1) ? 2 : 0;
  if (first >= 0xE0 && first <= 0xEF) {
    if (!follows(1) || !follows(2)) return 0;
    if (first == 0xE0 && byte(1) < 0xA0) return 0;  // overlong
    if (first == 0xED && byte(1) > 0x9F) return 0;  // surrogate
    return 3;
  }
  if (first >= 0xF0 && first <= 0xF4) {
    if (!follows(1) || !follows(2) || !follows(3)) return 0;
    if (first == 0xF0 && byte(1) < 0x90) return 0;
    if (first == 0xF4 && byte(1) > 0x8F) return 0;
    return 4;
  }
  return 0;
}

// The four hex digits at `at`; -1 when they are none.
int hex4(std::string_view text, size_t at) {
  if (at + 4 > text.size()) return -1;
  int value = 0;
  for (size_t i = at; i < at + 4; ++i) {
    const char byte = text[i];
    int digit = -1;
    if (is_digit(byte)) digit = byte - '0';
    if (byte >= 'a' && byte <= 'f') digit = byte - 'a' + 10;
    if (byte >= 'A' && byte <= 'F') digit = byte - 'A' + 10;
    if (digit < 0) return -1;
    value = value * 16 + digit;
  }
  return value;
}

bool is_high_surrogate(int code) {
  return code >= 0xD800 && code <= 0xDBFF;
}

bool is_low_surrogate(int code) {
  return code >= 0xDC00 && code <= 0xDFFF;
}

// The length of the escape whose backslash stands at `at`; 0 when it is none.
size_t escape_length(std::string_view text, size_t at) {
  if (at + 1 >= text.size()) return 0;
  const char kind = text[at + 1];
  if (std::strchr("\"\\/bfnrt", kind) != nullptr && kind != '\0') return 2;
  if (kind != 'u') return 0;
  const int code = hex4(text, at + 2);
  if (code < 0 || is_low_surrogate(code)) return 0;
  if (!is_high_surrogate(code)) return 6;
  const bool pair = text.substr(std::min(at + 6, text.size())).starts_with("\\u") &&
                    is_low_surrogate(hex4(text, at + 8));
  return pair ? 12 : 0;
}

void append_utf8(std::string& out, uint32_t code) {
  if (code < 0x80) {
    out += static_cast<char>(code);
  } else if (code < 0x800) {
    out += static_cast<char>(0xC0 | code >> 6);
    out += static_cast<char>(0x80 | (code & 0x3F));
  } else if (code < 0x10000) {
    out += static_cast<char>(0xE0 | code >> 12);
    out += static_cast<char>(0x80 | (code >> 6 & 0x3F));
    out += static_cast<char>(0x80 | (code & 0x3F));
  } else {
    out += static_cast<char>(0xF0 | code >> 18);
    out += static_cast<char>(0x80 | (code >> 12 & 0x3F));
    out += static_cast<char>(0x80 | (code >> 6 & 0x3F));
    out += static_cast<char>(0x80 | (code & 0x3F));
  }
}

// Numbers that every reader agrees on: no exponent, at most 18 digits, so nothing overflows.
size_t skip_number(std::string_view text, size_t at) {
  const size_t begin = at;
  if (at < text.size() && text[at] == '-') ++at;
  const size_t first = at;
  while (at < text.size() && is_digit(text[at])) ++at;
  if (at == first || (text[first] == '0' && at > first + 1)) return kNone;
  if (at < text.size() && text[at] == '.') {
    const size_t fraction = ++at;
    while (at < text.size() && is_digit(text[at])) ++at;
    if (at == fraction) return kNone;
  }
  const bool ends = at >= text.size() || std::strchr(" \t\r\n,]}", text[at]) != nullptr;
  return ends && at - begin <= 20 && at - first <= 19 ? at : kNone;
}

// A value without a tree. `strings`: counts the elements when the value is an array of strings.
class ValueSkipper {
 public:
  explicit ValueSkipper(std::string_view text) : text_(text) {}

  size_t skip(size_t at, int depth) {
    if (at >= text_.size() || depth > kMaxDepth) return kNone;
    switch (text_[at]) {
      case '"':
        return skip_json_string(text_, at);
      case '{':
        return skip_object(at, depth);
      case '[':
        return skip_array(at, depth, nullptr);
      case 't':
        return word(at, "true");
      case 'f':
        return word(at, "false");
      case 'n':
        return word(at, "null");
      default:
        return skip_number(text_, at);
    }
  }

  // `strings`: the number of elements when all are strings, else left alone.
  size_t skip_array(size_t at, int depth, JsonField* field) {
    size_t count = 0;
    bool all_strings = true;
    at = skip_blanks(text_, at + 1);
    if (at < text_.size() && text_[at] == ']') {
      note(field, all_strings, count);
      return at + 1;
    }
    while (at < text_.size()) {
      all_strings = all_strings && text_[at] == '"';
      at = skip(at, depth + 1);
      if (at == kNone) return kNone;
      ++count;
      at = skip_blanks(text_, at);
      if (at >= text_.size()) return kNone;
      if (text_[at] == ']') {
        note(field, all_strings, count);
        return at + 1;
      }
      if (text_[at] != ',') return kNone;
      at = skip_blanks(text_, at + 1);
    }
    return kNone;
  }

 private:
  static void note(JsonField* field, bool all_strings, size_t count) {
    if (field == nullptr || !all_strings) return;
    field->kind = JsonField::Kind::kStrings;
    field->count = count;
  }

  size_t word(size_t at, std::string_view expected) const {
    return text_.substr(at).starts_with(expected) ? at + expected.size() : kNone;
  }

  size_t skip_object(size_t at, int depth) {
    at = skip_blanks(text_, at + 1);
    if (at < text_.size() && text_[at] == '}') return at + 1;
    while (at < text_.size() && text_[at] == '"') {
      at = skip_json_string(text_, at);
      if (at == kNone) return kNone;
      at = skip_blanks(text_, at);
      if (at >= text_.size() || text_[at] != ':') return kNone;
      at = skip(skip_blanks(text_, at + 1), depth + 1);
      if (at == kNone) return kNone;
      at = skip_blanks(text_, at);
      if (at >= text_.size()) return kNone;
      if (text_[at] == '}') return at + 1;
      if (text_[at] != ',') return kNone;
      at = skip_blanks(text_, at + 1);
    }
    return kNone;
  }

  std::string_view text_;
};

// The value at `at` into `field`; the offset behind it.
size_t take_value(std::string_view text, size_t at, JsonField& field) {
  ValueSkipper skipper(text);
  field = JsonField{};
  field.kind = JsonField::Kind::kOther;
  if (at >= text.size()) return kNone;
  const char first = text[at];
  const size_t end = first == '[' ? skipper.skip_array(at, 1, &field) : skipper.skip(at, 1);
  if (end == kNone) return kNone;
  if (first == '"') field.kind = JsonField::Kind::kString;
  if (first == 'n') field.kind = JsonField::Kind::kNull;
  field.text = text.substr(at, end - at);
  return end;
}

}  // namespace

size_t skip_json_string(std::string_view text, size_t at) {
  ++at;
  while (at < text.size()) {
    while (at + 8 <= text.size() && eight_plain(text.data() + at)) at += 8;
    if (at >= text.size()) return kNone;
    const auto byte = static_cast<unsigned char>(text[at]);
    size_t length = 1;
    if (byte == '"') return at + 1;
    if (byte == '\\') {
      length = escape_length(text, at);
    } else if (byte >= 0x80) {
      length = utf8_length(text, at);
    } else if (byte < 0x20) {
      length = 0;
    }
    if (length == 0) return kNone;
    at += length;
  }
  return kNone;
}

bool find_json_fields(std::string_view object, std::span<const std::string_view> keys,
                      std::span<JsonField> fields) {
  std::fill(fields.begin(), fields.end(), JsonField{});
  ValueSkipper skipper(object);
  size_t at = skip_blanks(object, 0);
  if (at >= object.size() || object[at] != '{') return false;
  at = skip_blanks(object, at + 1);
  if (at < object.size() && object[at] == '}') {
    return skip_blanks(object, at + 1) == object.size();
  }
  while (at < object.size() && object[at] == '"') {
    const size_t key_end = skip_json_string(object, at);
    if (key_end == kNone) return false;
    const std::string_view key = object.substr(at + 1, key_end - at - 2);
    if (key.find('\\') != kNone) return false;
    at = skip_blanks(object, key_end);
    if (at >= object.size() || object[at] != ':') return false;
    at = skip_blanks(object, at + 1);
    size_t end = kNone;
    for (size_t i = 0; i < keys.size(); ++i) {
      if (keys[i] == key) end = take_value(object, at, fields[i]);
    }
    if (end == kNone) end = skipper.skip(at, 1);
    if (end == kNone) return false;
    at = skip_blanks(object, end);
    if (at >= object.size()) return false;
    if (object[at] == '}') return skip_blanks(object, at + 1) == object.size();
    if (object[at] != ',') return false;
    at = skip_blanks(object, at + 1);
  }
  return false;
}

void unescape_json_string(std::string_view text, std::string& out) {
  out.clear();
  text = text.substr(1, text.size() - 2);
  for (size_t at = 0; at < text.size();) {
    const size_t escape = std::min(text.find('\\', at), text.size());
    out.append(text, at, escape - at);
    if (escape == text.size()) return;
    const char kind = text[escape + 1];
    at = escape + 2;
    switch (kind) {
      case 'b':
        out += '\b';
        break;
      case 'f':
        out += '\f';
        break;
      case 'n':
        out += '\n';
        break;
      case 'r':
        out += '\r';
        break;
      case 't':
        out += '\t';
        break;
      case 'u': {
        auto code = static_cast<uint32_t>(hex4(text, at));
        at += 4;
        if (is_high_surrogate(static_cast<int>(code))) {
          const auto low = static_cast<uint32_t>(hex4(text, at + 2));
          code = 0x10000 + ((code - 0xD800) << 10) + (low - 0xDC00);
          at += 6;
        }
        append_utf8(out, code);
        break;
      }
      default:
        out += kind;
    }
  }
}

std::string_view json_string_at(std::string_view array, size_t index) {
  size_t at = array.find('"');
  for (size_t i = 0; i < index; ++i) {
    at = array.find('"', skip_json_string(array, at));
  }
  return array.substr(at, skip_json_string(array, at) - at);
}

}  // namespace cantilever
