#pragma once

#include <array>
#include <cstdint>

#include "cantilever/data/text/unicode_class.h"
#include "cantilever/data/text/utf8.h"

namespace cantilever {

inline constexpr auto kAsciiClasses = [] {
  std::array<UnicodeClass, 128> classes{};
  for (size_t i = 'a'; i <= 'z'; ++i) classes[i] = UnicodeClass::kLetter;
  for (size_t i = 'A'; i <= 'Z'; ++i) classes[i] = UnicodeClass::kLetter;
  for (size_t i = '0'; i <= '9'; ++i) classes[i] = UnicodeClass::kNumber;
  for (size_t i = '\t'; i <= '\r'; ++i) classes[i] = UnicodeClass::kSpace;
  classes[' '] = UnicodeClass::kSpace;
  return classes;
}();

// Cuts valid UTF-8 the way GPT-2's pattern does:
//   's|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+
// Every code point belongs to one of the four classes, so the pieces cover the text.
class PieceSplitter {
 public:
  PieceSplitter() : table_(UnicodeTable::get()) {}

  // End of the piece that starts at p; p < end.
  const char* next(const char* p, const char* end) const {
    const auto byte = static_cast<unsigned char>(*p);
    if (byte == '\'') {
      if (const char* after = contraction(p, end)) return after;
      return run(p + 1, end, UnicodeClass::kOther);
    }
    const char* after = nullptr;
    UnicodeClass kind = class_at(p, &after);
    if (kind != UnicodeClass::kSpace) return run(after, end, kind);
    if (after == end) return after;
    const char* behind_next = nullptr;
    kind = class_at(after, &behind_next);
    if (kind != UnicodeClass::kSpace) {
      // A blank belongs to what follows it, any other white space stands alone.
      return byte == ' ' ? run(behind_next, end, kind) : after;
    }
    return white_space(after, end);
  }

 private:
  UnicodeClass class_at(const char* p, const char** after) const {
    const auto byte = static_cast<unsigned char>(*p);
    if (byte < 0x80) [[likely]] {
      *after = p + 1;
      return kAsciiClasses[byte];
    }
    return table_(decode_utf8(p, after));
  }

  const char* run(const char* p, const char* end, UnicodeClass kind) const {
    while (p != end) {
      const char* after = nullptr;
      if (class_at(p, &after) != kind) break;
      p = after;
    }
    return p;
  }

  // p stands behind the first white space of a run of two or more: the whole run when it ends the
  // text, else all but its last character.
  const char* white_space(const char* p, const char* end) const {
    const char* last = p;
    while (p != end) {
      const char* after = nullptr;
      if (class_at(p, &after) != UnicodeClass::kSpace) return last;
      last = p;
      p = after;
    }
    return end;
  }

  static const char* contraction(const char* p, const char* end) {
    if (end - p < 2) return nullptr;
    const char first = p[1];
    if (first == 's' || first == 't' || first == 'm' || first == 'd') return p + 2;
    if (end - p < 3) return nullptr;
    const char second = p[2];
    const bool two = (first == 'r' && second == 'e') || (first == 'v' && second == 'e') ||
                     (first == 'l' && second == 'l');
    return two ? p + 3 : nullptr;
  }

  const UnicodeTable& table_;
};

}  // namespace cantilever
