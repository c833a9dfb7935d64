#pragma once

#include <array>
#include <cstdint>

#include "cantilever/data/image/jpeg_frame.h"

namespace cantilever {

// Codes too long for a first table are found by their length: limit[n] is the first number of n
// bits, moved to the left end of 16, that is no code of n bits or less.
struct JpegLongCodes {
  std::array<uint32_t, 18> limit = {};
  std::array<int, 17> offset = {};  // symbol index of a code of n bits minus the code
  std::array<uint8_t, 256> symbols = {};
};

// What the next bits mean when they begin with a DC code.
struct JpegDcEntry {
  uint8_t total = 0;   // bits of the code and of its value; 0: a long code or none
  uint8_t code = 0;    // bits of the code
  uint8_t shift = 63;  // 63 - bits of the value
  uint8_t unused = 0;
};

// What the next bits mean inside of a block. Up to two coefficients at once: one whose value lies
// within the bits looked up, and one whose value begins there; or the end of the block behind the
// first. Places count from the last coefficient. What is not there is written all the same: the
// second goes where the first will be, or past the end of the block, and the first is a zero where
// nothing was written yet.
struct JpegAcEntry {
  uint8_t total = 0;        // bits used; 0: a long code or none
  uint8_t value_begin = 0;  // the second value
  uint8_t value_shift = 0;  // 64 - its bits
  uint8_t first_step = 0;
  uint8_t step = 0;  // to the second, or to where the last one is; kJpegBlockEnd more at the end
  int8_t first_value = 0;
  int16_t sign_bits = 0;  // -(1 << bits of the second value)
};

constexpr int kJpegBlockEnd = 128;
// Bits that one lookup takes at most; what takes more counts as a long code. So a refill, which
// leaves 56 bits, lasts for three lookups inside of a block, or for a DC code and two.
constexpr int kJpegMostAcBits = 18;
constexpr int kJpegMostDcBits = 20;

struct JpegDcTable {
  static constexpr int kBits = 10;
  std::array<JpegDcEntry, 1 << kBits> entries;
  JpegLongCodes codes;
};

struct JpegAcTable {
  static constexpr int kBits = 11;
  std::array<JpegAcEntry, 1 << kBits> entries;
  JpegLongCodes codes;
};

// False for tables that libjpeg refuses, and for symbols that no 8-bit picture needs (values of
// more than 11 bits for DC and 10 for AC, zeros without a value other than the two that T.81
// knows).
bool build_jpeg_dc_table(const JpegCodeLengths& lengths, JpegDcTable& table);
bool build_jpeg_ac_table(const JpegCodeLengths& lengths, JpegAcTable& table);

// An entry of one AC symbol alone, its value behind `code_bits` bits.
inline JpegAcEntry lone_jpeg_entry(int code_bits, int symbol) {
  const int size = symbol & 15;
  const int run = symbol >> 4;
  JpegAcEntry entry;
  entry.total = static_cast<uint8_t>(code_bits + size);
  entry.value_begin = static_cast<uint8_t>(code_bits);
  entry.value_shift = static_cast<uint8_t>((64 - size) & 63);
  entry.sign_bits = static_cast<int16_t>(-(1 << size));
  entry.step = static_cast<uint8_t>(size == 0 && run == 0 ? kJpegBlockEnd : run + 1);
  // Sixteen zeros: the last of them is written as the first coefficient, over the second.
  entry.first_step = static_cast<uint8_t>(entry.step + (size == 0 ? 0 : 1));
  return entry;
}

// The code at the left end of `bits`: its symbol, and its length in `length`; -1 for none.
inline int find_jpeg_code(const JpegLongCodes& codes, uint64_t bits, int& length) {
  const auto left = static_cast<uint32_t>(bits >> 48U);
  for (int n = 1; n <= 16; ++n) {
    const auto index = static_cast<size_t>(n);
    if (left < codes.limit[index]) {
      length = n;
      const int code = static_cast<int>(left >> (16 - n));
      return codes.symbols[static_cast<size_t>(code + codes.offset[index])];
    }
  }
  return -1;
}

}  // namespace cantilever
