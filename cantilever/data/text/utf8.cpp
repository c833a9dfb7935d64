#include "cantilever/data/text/utf8.h"

#include <cstring>

namespace cantilever {
namespace {

// Table 3-7 of the Unicode standard: how many continuation bytes follow a lead byte and what the
// first of them may be.
struct LeadRule {
  int continuations = -1;
  unsigned char low = 0x80;
  unsigned char high = 0xBF;
};

LeadRule rule_of(unsigned char lead) {
  if (lead < 0x80) return {0};
  if (lead < 0xC2) return {-1};
  if (lead < 0xE0) return {1};
  if (lead == 0xE0) return {2, 0xA0, 0xBF};
  if (lead == 0xED) return {2, 0x80, 0x9F};
  if (lead < 0xF0) return {2};
  if (lead == 0xF0) return {3, 0x90, 0xBF};
  if (lead < 0xF4) return {3};
  if (lead == 0xF4) return {3, 0x80, 0x8F};
  return {-1};
}

// Bytes of the character at p; when it is broken *valid becomes false and the result is the length
// of the maximal part that one U+FFFD stands for.
size_t character_length(const char* p, const char* end, bool* valid) {
  const LeadRule rule = rule_of(static_cast<unsigned char>(*p));
  *valid = false;
  if (rule.continuations < 0) return 1;
  for (int i = 1; i <= rule.continuations; ++i) {
    if (p + i == end) return static_cast<size_t>(i);
    const auto byte = static_cast<unsigned char>(p[i]);
    const unsigned char low = i == 1 ? rule.low : 0x80;
    const unsigned char high = i == 1 ? rule.high : 0xBF;
    if (byte < low || byte > high) return static_cast<size_t>(i);
  }
  *valid = true;
  return static_cast<size_t>(rule.continuations) + 1;
}

const char* skip_ascii(const char* p, const char* end) {
  constexpr uint64_t kHighBits = 0x8080808080808080U;
  while (end - p >= 8) {
    uint64_t word;
    std::memcpy(&word, p, 8);
    if ((word & kHighBits) != 0) break;
    p += 8;
  }
  while (p != end && static_cast<unsigned char>(*p) < 0x80) ++p;
  return p;
}

}  // namespace

size_t valid_utf8_prefix(std::string_view text) {
  const char* p = text.data();
  const char* const end = p + text.size();
  while ((p = skip_ascii(p, end)) != end) {
    bool valid = false;
    const size_t length = character_length(p, end, &valid);
    if (!valid) break;
    p += length;
  }
  return static_cast<size_t>(p - text.data());
}

std::string repair_utf8(std::string_view text) {
  std::string out;
  out.reserve(text.size() + 16);
  const char* p = text.data();
  const char* const end = p + text.size();
  while (p != end) {
    const size_t good = valid_utf8_prefix({p, static_cast<size_t>(end - p)});
    out.append(p, good);
    p += good;
    if (p == end) break;
    bool valid = false;
    p += character_length(p, end, &valid);
    out += "\xEF\xBF\xBD";
  }
  return out;
}

void append_utf8(std::string& out, uint32_t code) {
  const auto put = [&out](uint32_t byte) { out += static_cast<char>(byte); };
  if (code < 0x80) {
    put(code);
  } else if (code < 0x800) {
    put(0xC0 | code >> 6);
    put(0x80 | (code & 0x3F));
  } else if (code < 0x10000) {
    put(0xE0 | code >> 12);
    put(0x80 | (code >> 6 & 0x3F));
    put(0x80 | (code & 0x3F));
  } else {
    put(0xF0 | code >> 18);
    put(0x80 | (code >> 12 & 0x3F));
    put(0x80 | (code >> 6 & 0x3F));
    put(0x80 | (code & 0x3F));
  }
}

}  // namespace cantilever
