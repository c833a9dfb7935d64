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
// first. Positions count from the last coefficient. What is not there is written all the same, as a
// zero: the second before the first, and the first where nothing was written yet.
struct JpegAcEntry {
  uint8_t total = 0;  // bits used; 0: a long code or none
  uint8_t value_begin = 0;
  uint8_t value_shift = 63;  // 63 - bits of the second value
  uint8_t first_step = 1;
  uint8_t step = 0;  // to the second, or to where the last one is; kJpegBlockEnd more at the end
  uint8_t unused = 0;
  int16_t first_value = 0;
};

constexpr int kJpegBlockEnd = 128;

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
