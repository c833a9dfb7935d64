#include "cantilever/data/text/byte_alphabet.h"

#include <map>

#include "cantilever/data/text/utf8.h"

namespace cantilever {
namespace {

bool stands_for_itself(uint32_t byte) {
  return (byte >= '!' && byte <= '~') || (byte >= 0xA1 && byte <= 0xAC) || byte >= 0xAE;
}

ByteAlphabet make_alphabet() {
  ByteAlphabet alphabet;
  std::map<uint32_t, uint8_t> bytes;
  uint32_t spare = 0x100;
  for (uint32_t byte = 0; byte < 256; ++byte) {
    const uint32_t code = stands_for_itself(byte) ? byte : spare++;
    append_utf8(alphabet.spelling[byte], code);
    bytes[code] = static_cast<uint8_t>(byte);
  }
  size_t place = 0;
  for (const auto& [code, byte] : bytes) alphabet.by_code_point[place++] = byte;
  return alphabet;
}

}  // namespace

const ByteAlphabet& ByteAlphabet::get() {
  static const ByteAlphabet alphabet = make_alphabet();
  return alphabet;
}

std::string spell_bytes(std::string_view bytes) {
  const ByteAlphabet& alphabet = ByteAlphabet::get();
  std::string out;
  for (const char byte : bytes) out += alphabet.spelling[static_cast<unsigned char>(byte)];
  return out;
}

}  // namespace cantilever
