#include "cantilever/io/text_bytes.h"

#include <cstddef>
#include <cstdint>
#include <cstdio>

namespace cantilever {
namespace {

constexpr uint32_t kReplacement = 0xfffd;
constexpr std::string_view kReplacementBytes = "\xef\xbf\xbd";

struct CodePoint {
  uint32_t value;
  size_t bytes;  // how much of the text it took
  bool valid;
};

struct LeadByte {
  size_t length;
  unsigned char low, high;  // range of the second byte
};

// Table 3-7 of the Unicode standard, "Well-formed UTF-8 byte sequences".
LeadByte lead_byte(unsigned char byte) {
  if (byte >= 0xc2 && byte <= 0xdf) return {2, 0x80, 0xbf};
  if (byte == 0xe0) return {3, 0xa0, 0xbf};
  if (byte == 0xed) return {3, 0x80, 0x9f};
  if (byte >= 0xe1 && byte <= 0xef) return {3, 0x80, 0xbf};
  if (byte == 0xf0) return {4, 0x90, 0xbf};
  if (byte >= 0xf1 && byte <= 0xf3) return {4, 0x80, 0xbf};
  if (byte == 0xf4) return {4, 0x80, 0x8f};
  return {0, 0, 0};
}

// text is not empty.
CodePoint next_code_point(std::string_view text) {
  const auto first = static_cast<unsigned char>(text[0]);
  if (first < 0x80) return {first, 1, true};
  const LeadByte lead = lead_byte(first);
  if (lead.length == 0) return {kReplacement, 1, false};
  uint32_t value = first & (0xffu >> (lead.length + 1));
  for (size_t i = 1; i < lead.length; ++i) {
    if (i >= text.size()) return {kReplacement, i, false};
    const auto byte = static_cast<unsigned char>(text[i]);
    const unsigned char low = i == 1 ? lead.low : 0x80;
    const unsigned char high = i == 1 ? lead.high : 0xbf;
    if (byte < low || byte > high) return {kReplacement, i, false};
    value = value << 6 | (byte & 0x3fu);
  }
  return {value, lead.length, true};
}

void append_escape(std::string& out, uint32_t unit) {
  char escaped[8];
  std::snprintf(escaped, sizeof escaped, "\\u%04x", unit & 0xffffu);
  out += escaped;
}

// The two-character escapes of JSON; null when `byte` has none.
const char* short_escape(unsigned char byte) {
  switch (byte) {
    case '"':
      return "\\\"";
    case '\\':
      return "\\\\";
    case '\n':
      return "\\n";
    case '\r':
      return "\\r";
    case '\t':
      return "\\t";
    case '\f':
      return "\\f";
    case '\b':
      return "\\b";
    default:
      return nullptr;
  }
}

}  // namespace

void append_json_string(std::string& out, std::string_view text, bool ensure_ascii) {
  out += '"';
  while (!text.empty()) {
    const CodePoint point = next_code_point(text);
    const char* escape =
        point.value < 0x80 ? short_escape(static_cast<unsigned char>(point.value)) : nullptr;
    if (escape != nullptr) {
      out += escape;
    } else if (point.value < 0x20 || (ensure_ascii && point.value == 0x7f)) {
      append_escape(out, point.value);
    } else if (point.value < 0x80) {
      out += static_cast<char>(point.value);
    } else if (!ensure_ascii) {
      out += point.valid ? text.substr(0, point.bytes) : kReplacementBytes;
    } else if (point.value < 0x10000) {
      append_escape(out, point.value);
    } else {
      append_escape(out, 0xd800 + ((point.value - 0x10000) >> 10));
      append_escape(out, 0xdc00 + ((point.value - 0x10000) & 0x3ff));
    }
    text.remove_prefix(point.bytes);
  }
  out += '"';
}

std::string replace_invalid_utf8(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    const CodePoint point = next_code_point(text);
    out += point.valid ? text.substr(0, point.bytes) : kReplacementBytes;
    text.remove_prefix(point.bytes);
  }
  return out;
}

}  // namespace cantilever
