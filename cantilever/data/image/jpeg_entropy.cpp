#include "cantilever/data/image/jpeg_entropy.h"

#include <algorithm>
#include <bit>
#include <cstring>

// The loop over the coefficients is one long chain: look up, shift, look up. What is off this chain
// costs next to nothing, so values are computed without a branch, bits are fetched before they are
// needed, and the end of a block looks like a step past its last place.

namespace cantilever {
namespace {

#define CANTILEVER_INLINE inline __attribute__((always_inline))

// kJpegNaturalOrder in a pair, and the overflow slot for every step past the end of the block.
constexpr size_t kPlaces = 64 + kJpegBlockEnd + 32;
const std::array<uint8_t, kPlaces> kPlaceInPair = [] {
  std::array<uint8_t, kPlaces> places;
  places.fill(JpegBlockPair::kOverflow);
  for (size_t k = 0; k < 64; ++k) {
    const unsigned natural = kJpegNaturalOrder[k];
    places[k] = static_cast<uint8_t>((natural / 8) * 16 + natural % 8);
  }
  return places;
}();

CANTILEVER_INLINE uint64_t load_big_endian(const uint8_t* from) {
  uint64_t bytes;
  std::memcpy(&bytes, from, sizeof(bytes));
  return std::endian::native == std::endian::little ? __builtin_bswap64(bytes) : bytes;
}

struct BitReader {
  uint64_t bits;
  uint64_t count;
  const uint8_t* next;

  // Afterwards at least 56 bits are there. Reads eight bytes from `next` on.
  CANTILEVER_INLINE void refill() {
    bits |= load_big_endian(next) >> count;
    next += (63 - count) >> 3U;
    count |= 56;
  }
  CANTILEVER_INLINE void drop(unsigned used) {
    bits <<= used;
    count -= used;
  }
  // The value of 63 - shift bits at bit `begin`, extended; of no bits 0.
  CANTILEVER_INLINE int value(unsigned begin, unsigned shift) const {
    constexpr uint64_t kAll = ~uint64_t{0} >> 1U;
    const uint64_t left = bits << begin;
    const auto is_positive = static_cast<uint64_t>(static_cast<int64_t>(left) >> 63);
    return static_cast<int>((left >> 1U) >> shift) -
           static_cast<int>((kAll >> shift) & ~is_positive);
  }
  // The second value of an entry. The number as two's complement lacks the right sign bits, and one
  // where it is negative (T.81, F.2.2.1). Of no bits anything.
  CANTILEVER_INLINE int16_t value(const JpegAcEntry& entry) const {
    const auto left = static_cast<int64_t>(bits << entry.value_begin);
    const auto sign = static_cast<uint64_t>(left >> 63);
    const auto number = static_cast<uint64_t>(left >> entry.value_shift) ^
                        static_cast<uint64_t>(int64_t{entry.sign_bits});
    return static_cast<int16_t>(static_cast<uint16_t>(number + sign + 1));
  }
};

// Uses up the code at the left end; the entry says what is behind it. Then 46 bits are left, enough
// for two more lookups.
__attribute__((noinline, cold)) BitReader take_long_code(const JpegAcTable& table, BitReader reader,
                                                         JpegAcEntry& entry) {
  reader.refill();
  int length = 0;
  const int symbol = find_jpeg_code(table.codes, reader.bits, length);
  entry = lone_jpeg_entry(0, symbol < 0 ? 0 : symbol);
  if (symbol < 0) entry.step = entry.first_step = 64;  // no block ends there
  reader.drop(static_cast<unsigned>(length));
  reader.refill();
  return reader;
}

// The same for a DC code; entry.code is 255 where there is none.
__attribute__((noinline, cold)) BitReader take_long_dc_code(const JpegDcTable& table,
                                                            BitReader reader, JpegDcEntry& entry) {
  int length = 0;
  const int symbol = find_jpeg_code(table.codes, reader.bits, length);
  entry.code = symbol < 0 ? 255 : 0;
  entry.total = static_cast<uint8_t>(std::max(symbol, 0));
  entry.shift = static_cast<uint8_t>(63 - std::max(symbol, 0));
  reader.drop(static_cast<unsigned>(length));
  reader.refill();
  return reader;
}

// One lookup: up to two coefficients. `last` is the place of the last one in zigzag order.
template <bool kStore>
CANTILEVER_INLINE const JpegAcEntry* decode_step(BitReader& reader, const JpegAcTable& table,
                                                 size_t& last, JpegAcEntry& long_entry,
                                                 int16_t* block) {
  const JpegAcEntry* entry = &table.entries[reader.bits >> (64 - JpegAcTable::kBits)];
  unsigned total = entry->total;
  if (__builtin_expect(total == 0, 0)) {
    reader = take_long_code(table, reader, long_entry);
    entry = &long_entry;
    total = long_entry.total;
  }
  const uint8_t* places = kPlaceInPair.data() + last;
  last += entry->step;
  if constexpr (kStore) {
    const int16_t second_value = reader.value(*entry);
    const int16_t first_value = entry->first_value;
    const size_t first_place = places[entry->first_step];
    block[kPlaceInPair[last]] = second_value;
    block[first_place] = first_value;
  }
  reader.drop(total);
  return entry;
}

// The first of two coefficients was the last of the block: what was taken for the second belongs to
// the next block. `used` bits ago the reader stood before the first.
__attribute__((noinline, cold)) BitReader return_second(const JpegAcTable& table, unsigned used,
                                                        BitReader reader) {
  const auto move_back = [&reader](uint64_t bits_back) {
    const uint64_t whole = (reader.count + bits_back + 7) / 8;
    const uint64_t skipped = whole * 8 - reader.count - bits_back;
    const uint8_t* from = reader.next - whole;
    return BitReader{load_big_endian(from) << skipped, 56 - skipped, from + 7};
  };
  int length = 0;
  const int symbol = find_jpeg_code(table.codes, move_back(used).bits, length);
  return move_back(used - static_cast<unsigned>(length + (symbol & 15)));
}

template <bool kStore>
CANTILEVER_INLINE bool decode_block(BitReader& reader, const JpegBlockCode& code, int& last_dc,
                                    int16_t* block) {
  reader.refill();
  JpegDcEntry dc = code.dc->entries[reader.bits >> (64 - JpegDcTable::kBits)];
  if (__builtin_expect(dc.total == 0, 0)) {
    reader = take_long_dc_code(*code.dc, reader, dc);
    if (dc.code != 0) return false;
  }
  last_dc += reader.value(dc.code, dc.shift);
  reader.drop(dc.total);
  const JpegAcTable& ac = *code.ac;
  JpegAcEntry long_entry;
  size_t last = 0;
  const JpegAcEntry* entry = nullptr;
  for (int lookups = 2;; lookups = 3, reader.refill()) {
    entry = decode_step<kStore>(reader, ac, last, long_entry, block);
    if (last >= 63) break;
    entry = decode_step<kStore>(reader, ac, last, long_entry, block);
    if (last >= 63) break;
    if (lookups == 2) continue;
    entry = decode_step<kStore>(reader, ac, last, long_entry, block);
    if (last >= 63) break;
  }
  if (__builtin_expect(last - entry->step + entry->first_step == 63, 0) &&
      entry->first_value != 0) {
    if (entry->step != entry->first_step) reader = return_second(ac, entry->total, reader);
    last = 63;
  }
  if constexpr (kStore) {
    block[0] = static_cast<int16_t>(last_dc);
    block[JpegBlockPair::kLast] = static_cast<int16_t>(last - kJpegBlockEnd);
  }
  const bool fits = last_dc == static_cast<int16_t>(last_dc);
  return fits && (last == 63 || last - kJpegBlockEnd < 64);
}

template <bool kStore>
CANTILEVER_INLINE bool decode_mcus(JpegEntropy& entropy, int count, JpegBlockPair* pairs) {
  int slot = 0;
  for (int i = 0; i < count; ++i) {
    if (entropy.restart_interval != 0) {
      if (entropy.until_restart == 0 && !entropy.start_segment(entropy.segment + 1)) return false;
      --entropy.until_restart;
    }
    BitReader reader = {entropy.bits, static_cast<uint64_t>(entropy.count), entropy.next};
    for (int b = 0; b < entropy.blocks_per_mcu; ++b) {
      const JpegBlockCode& code = entropy.blocks[static_cast<size_t>(b)];
      int16_t* block = nullptr;
      if constexpr (kStore) {
        block = pairs[slot / 2].coefficients.data() + (slot & 1) * JpegBlockPair::kLane;
        ++slot;
      }
      if (!decode_block<kStore>(reader, code, entropy.last_dc[code.component], block)) return false;
    }
    entropy.bits = reader.bits;
    entropy.count = static_cast<int>(reader.count);
    entropy.next = reader.next;
    if (entropy.bits_left() < 0) return false;
  }
  return true;
}

bool decode_mcus_portable(JpegEntropy& entropy, int count, JpegBlockPair* pairs) {
  return pairs == nullptr ? decode_mcus<false>(entropy, count, pairs)
                          : decode_mcus<true>(entropy, count, pairs);
}

#if defined(__x86_64__)
// Shifts by a variable without the detour over CL.
__attribute__((target("bmi,bmi2"))) bool decode_mcus_bmi2(JpegEntropy& entropy, int count,
                                                          JpegBlockPair* pairs) {
  return pairs == nullptr ? decode_mcus<false>(entropy, count, pairs)
                          : decode_mcus<true>(entropy, count, pairs);
}
#endif

}  // namespace

void JpegEntropy::start(const JpegScan& new_scan) {
  scan = &new_scan;
  segment = 0;
  until_restart = restart_interval;
  bits = 0;
  count = 0;
  next = scan->bytes.data();
  last_dc = {};
}

ptrdiff_t JpegEntropy::bits_left() const {
  return (scan->bytes.data() + scan->ends[segment] - next) * 8 + count;
}

bool JpegEntropy::is_at_segment_end() const {
  const ptrdiff_t left = bits_left();
  return left >= 0 && left < 8;
}

bool JpegEntropy::start_segment(size_t index) {
  if (!is_at_segment_end() || index >= scan->ends.size()) return false;
  segment = index;
  until_restart = restart_interval;
  bits = 0;
  count = 0;
  next = scan->bytes.data() + scan->ends[index - 1];
  last_dc = {};
  return true;
}

DecodeJpegMcus portable_jpeg_mcu_decoder() {
  return decode_mcus_portable;
}

DecodeJpegMcus jpeg_mcu_decoder() {
#if defined(__x86_64__)
  static const bool has_bmi2 =
      __builtin_cpu_supports("bmi") != 0 && __builtin_cpu_supports("bmi2") != 0;
  if (has_bmi2) return decode_mcus_bmi2;
#endif
  return decode_mcus_portable;
}

}  // namespace cantilever
