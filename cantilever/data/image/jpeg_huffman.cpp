#include "cantilever/data/image/jpeg_huffman.h"

#include <algorithm>
#include <cstring>

namespace cantilever {
namespace {

// One code as the left end of a number of `bits` bits; length 0: none that short.
struct ShortCode {
  uint8_t length = 0;
  uint8_t symbol = 0;
};

// As jpeg_make_d_derived_tbl of libjpeg: no length may use the code of all ones.
bool build_long_codes(const JpegCodeLengths& lengths, JpegLongCodes& codes) {
  std::copy_n(lengths.symbols, lengths.total, codes.symbols.begin());
  int code = 0;
  int index = 0;
  for (int n = 1; n <= 16; ++n) {
    const auto at = static_cast<size_t>(n);
    codes.offset[at] = index - code;
    code += lengths.counts[n - 1];
    index += lengths.counts[n - 1];
    if (lengths.counts[n - 1] != 0 && code >= 1 << n) return false;
    codes.limit[at] = static_cast<uint32_t>(code) << (16 - n);
    code <<= 1;
  }
  return true;
}

// table[i] for every number i of `bits` bits.
void fill_short_codes(const JpegCodeLengths& lengths, int bits, ShortCode* table) {
  const uint8_t* symbol = lengths.symbols;
  ShortCode* to = table;
  for (int n = 1; n <= bits; ++n) {
    for (int i = 0; i < lengths.counts[n - 1]; ++i) {
      to = std::fill_n(to, 1 << (bits - n), ShortCode{static_cast<uint8_t>(n), *symbol++});
    }
  }
  std::fill(to, table + (1 << bits), ShortCode{});
}

int run_of(uint8_t symbol) {
  return symbol >> 4U;
}
int size_of(uint8_t symbol) {
  return symbol & 15;
}

// The value of `size` bits as T.81 extends it (F.2.2.1, EXTEND).
int extend(int bits, int size) {
  return bits >> (size - 1) != 0 ? bits : bits - (1 << size) + 1;
}

// A first code with its value, then what `rest` says, if anything.
JpegAcEntry joined_entry(const JpegAcEntry& first, int first_value, ShortCode rest) {
  JpegAcEntry entry;
  entry.total = first.total;
  entry.first_value = static_cast<int8_t>(first_value);
  entry.first_step = first.step;
  entry.step = first.step;
  const bool is_zeros = rest.symbol == 0xf0;  // nothing to write at its place
  if (rest.length == 0 || is_zeros) return entry;
  const JpegAcEntry second = lone_jpeg_entry(rest.length, rest.symbol);
  if (first.total + second.total > kJpegMostAcBits) return entry;
  entry.total = static_cast<uint8_t>(first.total + second.total);
  entry.step = static_cast<uint8_t>(first.step + second.step);
  entry.value_begin = static_cast<uint8_t>(first.total + second.value_begin);
  entry.value_shift = second.value_shift;
  entry.sign_bits = second.sign_bits;
  return entry;
}

}  // namespace

bool build_jpeg_dc_table(const JpegCodeLengths& lengths, JpegDcTable& table) {
  constexpr int kBits = JpegDcTable::kBits;
  constexpr int kLargest = 11;
  if (!build_long_codes(lengths, table.codes)) return false;
  for (int i = 0; i < lengths.total; ++i) {
    if (lengths.symbols[i] > kLargest) return false;
  }
  std::array<ShortCode, 1 << kBits> codes;
  fill_short_codes(lengths, kBits, codes.data());
  for (size_t i = 0; i < codes.size(); ++i) {
    const ShortCode code = codes[i];
    JpegDcEntry& entry = table.entries[i];
    const int total = code.length == 0 ? 0 : code.length + code.symbol;
    entry.code = code.length;
    entry.total = static_cast<uint8_t>(total > kJpegMostDcBits ? 0 : total);
    entry.shift = static_cast<uint8_t>(63 - code.symbol);
  }
  return true;
}

bool build_jpeg_ac_table(const JpegCodeLengths& lengths, JpegAcTable& table) {
  constexpr int kBits = JpegAcTable::kBits;
  constexpr int kLargest = 10;
  constexpr int kLargestJoined = 7;  // what JpegAcEntry::first_value holds
  if (!build_long_codes(lengths, table.codes)) return false;
  for (int i = 0; i < lengths.total; ++i) {
    const int size = size_of(lengths.symbols[i]);
    const int run = run_of(lengths.symbols[i]);
    if (size > kLargest || (size == 0 && run != 0 && run != 15)) return false;
  }
  std::array<ShortCode, 1 << kBits> codes;
  fill_short_codes(lengths, kBits, codes.data());
  for (int i = 0; i < 1 << kBits;) {
    const ShortCode code = codes[static_cast<size_t>(i)];
    const int size = size_of(code.symbol);
    const int used = code.length + size;
    if (code.length == 0 || size == 0 || size > kLargestJoined || used > kBits) {
      const bool is_short = code.length != 0 && used <= kJpegMostAcBits;
      const JpegAcEntry lone = is_short ? lone_jpeg_entry(code.length, code.symbol) : JpegAcEntry{};
      const int count = code.length == 0 ? 1 : 1 << (kBits - code.length);
      std::fill_n(table.entries.begin() + i, count, lone);
      i += count;
      continue;
    }
    const JpegAcEntry first = lone_jpeg_entry(code.length, code.symbol);
    // All numbers that begin with this code and this value.
    const int rest = kBits - used;
    const int value = extend((i >> rest) & ((1 << size) - 1), size);
    for (int j = 0; j < 1 << rest; ++j) {
      ShortCode next = codes[static_cast<size_t>(j << used)];
      if (next.length > rest) next = ShortCode{};
      table.entries[static_cast<size_t>(i + j)] = joined_entry(first, value, next);
    }
    i += 1 << rest;
  }
  return true;
}

}  // namespace cantilever
