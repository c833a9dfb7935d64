#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace cantilever {

// Bytes of the longest valid UTF-8 prefix of text (RFC 3629: no surrogates, no overlong forms,
// nothing above U+10FFFF).
size_t valid_utf8_prefix(std::string_view text);

// text with every maximal broken part replaced by U+FFFD, as Python's bytes.decode("utf-8",
// "replace") and the WHATWG decoder do: each of the bytes ED A0 80 becomes one U+FFFD, a character
// cut short becomes one for all its bytes.
std::string repair_utf8(std::string_view text);

// The code point at p, whose text is valid UTF-8; *next is set behind it.
inline uint32_t decode_utf8(const char* p, const char** next) {
  const auto byte = [p](int i) { return static_cast<uint32_t>(static_cast<unsigned char>(p[i])); };
  const uint32_t lead = byte(0);
  if (lead < 0x80) {
    *next = p + 1;
    return lead;
  }
  if (lead < 0xE0) {
    *next = p + 2;
    return (lead & 0x1F) << 6 | (byte(1) & 0x3F);
  }
  if (lead < 0xF0) {
    *next = p + 3;
    return (lead & 0x0F) << 12 | (byte(1) & 0x3F) << 6 | (byte(2) & 0x3F);
  }
  *next = p + 4;
  return (lead & 0x07) << 18 | (byte(1) & 0x3F) << 12 | (byte(2) & 0x3F) << 6 | (byte(3) & 0x3F);
}

// Appends the UTF-8 form of a code point up to U+10FFFF.
void append_utf8(std::string& out, uint32_t code);

}  // namespace cantilever
