#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

namespace cantilever {

// GPT-2's spelling of bytes in vocabularies: printable Latin-1 characters stand for themselves, the
// other 68 bytes for U+0100 and on, in order (a blank is U+0120). `spelling[b]` is UTF-8.
struct ByteAlphabet {
  std::array<std::string, 256> spelling;
  std::array<uint8_t, 256> by_code_point;  // the bytes, sorted by the character that spells them

  static const ByteAlphabet& get();
};

// Bytes as a vocabulary spells them.
std::string spell_bytes(std::string_view bytes);

}  // namespace cantilever
