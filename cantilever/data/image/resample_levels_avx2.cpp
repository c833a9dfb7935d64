#if defined(__x86_64__)

#include <algorithm>

#include "cantilever/data/image/resample_avx2.h"

// Sums of bytes and whole weights, two taps an instruction (vpmaddwd). Weights of up to 24 bits are
// split into high * 2^15 + low: sums wrap around at 2^32, but the whole sum fits into 31 bits.

namespace cantilever::avx2 {
namespace {

constexpr int kOutputs = 8;                         // outputs between two transpositions
constexpr int64_t kPair = int64_t{kChannels} * 16;  // int16 values of a tile's pair of columns

// The bytes of eight rows, sample by sample: uint8 [samples, 8].
CANTILEVER_AVX2_INLINE void turn_rows(const SourceRows& rows, int64_t first, int64_t samples,
                                      uint8_t* turned_bytes) {
  for_turned_bytes(rows, first, samples,
                   [turned_bytes](const __m128i* turned, int64_t k)
                       __attribute__((always_inline, target("avx2,fma"))) {
                         auto* to = reinterpret_cast<__m128i*>(turned_bytes + k * kRowsPerBlock);
#pragma GCC unroll 8
                         for (int i = 0; i < 8; ++i) _mm_store_si128(to + i, turned[i]);
                       });
}

// Pairs of neighbouring columns, int16 [pairs, 3, 8 rows, 2].
CANTILEVER_AVX2_INLINE void pair_columns(const uint8_t* turned, int64_t pairs, int16_t* tile) {
  constexpr ptrdiff_t kNext = ptrdiff_t{kChannels} * kRowsPerBlock;
  for (int64_t p = 0; p < pairs; ++p) {
    for (int c = 0; c < kChannels; ++c) {
      const uint8_t* from = turned + p * 2 * kNext + c * kRowsPerBlock;
      const __m128i a = _mm_loadl_epi64(reinterpret_cast<const __m128i*>(from));
      const __m128i b = _mm_loadl_epi64(reinterpret_cast<const __m128i*>(from + kNext));
      const __m256i words = _mm256_cvtepu8_epi16(_mm_unpacklo_epi8(a, b));
      _mm256_store_si256(reinterpret_cast<__m256i*>(tile + p * kPair + c * 16), words);
    }
  }
}

CANTILEVER_AVX2_INLINE __m256i pair_weight(const int32_t* weight) {
  return _mm256_set1_epi32(*weight);
}

CANTILEVER_AVX2_INLINE __m256i finished(__m256i low, __m256i high, bool splits, __m256i half,
                                        __m128i shift) {
  __m256i sum = _mm256_add_epi32(low, half);
  if (splits) sum = _mm256_add_epi32(sum, _mm256_slli_epi32(high, kLowWeightBits));
  return _mm256_sra_epi32(sum, shift);
}

struct Rounding {
  __m256i half;
  __m128i shift;
};

CANTILEVER_AVX2_INLINE Rounding rounding_of(const ResampleAxis& axis) {
  return {_mm256_set1_epi32(1 << (axis.precision - 1)), _mm_cvtsi32_si128(axis.precision)};
}

// One output of three channels and eight rows: int32 sums, shifted but not cut.
template <bool kSplits>
CANTILEVER_AVX2_INLINE void sum_output(const int16_t* source, const int32_t* low_weights,
                                       const int32_t* high_weights, int32_t pairs,
                                       const Rounding& rounding, __m256i* out) {
  __m256i low[kChannels];
  __m256i high[kChannels];
#pragma GCC unroll 3
  for (int c = 0; c < kChannels; ++c) low[c] = high[c] = _mm256_setzero_si256();
  for (int32_t p = 0; p < pairs; ++p) {
    const __m256i low_weight = pair_weight(low_weights + p);
    const __m256i high_weight = kSplits ? pair_weight(high_weights + p) : low_weight;
#pragma GCC unroll 3
    for (int c = 0; c < kChannels; ++c) {
      const __m256i taps =
          _mm256_load_si256(reinterpret_cast<const __m256i*>(source + p * kPair + c * 16));
      low[c] = _mm256_add_epi32(low[c], _mm256_madd_epi16(taps, low_weight));
      if (kSplits) high[c] = _mm256_add_epi32(high[c], _mm256_madd_epi16(taps, high_weight));
    }
  }
#pragma GCC unroll 3
  for (int c = 0; c < kChannels; ++c) {
    out[c * kOutputs] = finished(low[c], high[c], kSplits, rounding.half, rounding.shift);
  }
}

// Eight outputs of eight rows, cut to bytes, to eight rows of eight bytes.
CANTILEVER_AVX2_INLINE void turn_levels(const __m256i* block, int64_t offset,
                                        const std::array<uint8_t*, kRowsPerBlock>& out) {
  const __m256i order = _mm256_setr_epi8(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15,  //
                                         0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15);
  __m256i four[2];
#pragma GCC unroll 2
  for (int h = 0; h < 2; ++h) {
    const __m256i* from = block + 4 * h;
    const __m256i words01 = _mm256_packs_epi32(from[0], from[1]);
    const __m256i words23 = _mm256_packs_epi32(from[2], from[3]);
    // Each half of the vector: outputs 0..3 of four rows; then the outputs of each row together.
    four[h] = _mm256_shuffle_epi8(_mm256_packus_epi16(words01, words23), order);
  }
  const __m256i rows01 = _mm256_unpacklo_epi32(four[0], four[1]);  // rows 0, 1 | 4, 5
  const __m256i rows23 = _mm256_unpackhi_epi32(four[0], four[1]);  // rows 2, 3 | 6, 7
#pragma GCC unroll 2
  for (int h = 0; h < 2; ++h) {
    const __m128i a = h == 0 ? _mm256_castsi256_si128(rows01) : _mm256_extracti128_si256(rows01, 1);
    const __m128i b = h == 0 ? _mm256_castsi256_si128(rows23) : _mm256_extracti128_si256(rows23, 1);
    const auto row = static_cast<size_t>(4 * h);
    _mm_storel_epi64(reinterpret_cast<__m128i*>(out[row] + offset), a);
    _mm_storel_epi64(reinterpret_cast<__m128i*>(out[row + 1] + offset), _mm_unpackhi_epi64(a, a));
    _mm_storel_epi64(reinterpret_cast<__m128i*>(out[row + 2] + offset), b);
    _mm_storel_epi64(reinterpret_cast<__m128i*>(out[row + 3] + offset), _mm_unpackhi_epi64(b, b));
  }
}

template <bool kSplits>
CANTILEVER_AVX2_INLINE void horizontal(const ResampleAxis& axis, const SourceRows& rows, void* tile,
                                       const std::array<uint8_t*, kRowsPerBlock>& out) {
  const Rounding rounding = rounding_of(axis);
  __m256i block[kChannels * kOutputs] = {};
  const int64_t count = axis.window.count;
  const int64_t step = outputs_per_tile(axis);
  for (int64_t begin = 0; begin < count; begin += step) {
    const int64_t end = std::min(begin + step, count);
    const int64_t pair = axis.pair_start[static_cast<size_t>(begin)];
    const auto last = static_cast<size_t>(end - 1);
    const int64_t pairs = axis.pair_start[last] + axis.pair_count[last] - pair;
    // The last pair may reach a column behind the picture; its weight is zero.
    const int64_t columns = std::min(2 * pairs, axis.source_end - axis.source_first - 2 * pair);
    // Behind the pairs: the tile is sized for float32, four times what the bytes need.
    auto* pair_tile = static_cast<int16_t*>(tile);
    auto* turned = static_cast<uint8_t*>(tile) + pairs * kPair * 2;
    turn_rows(rows, 2 * pair * kChannels, columns * kChannels, turned);
    pair_columns(turned, pairs, pair_tile);
    for (int64_t x = begin; x < end; x += kOutputs) {
      const int64_t outputs = std::min<int64_t>(end - x, kOutputs);
      for (int64_t i = 0; i < outputs; ++i) {
        const auto output = static_cast<size_t>(x + i);
        const int64_t at = (x + i) * axis.pair_taps;
        sum_output<kSplits>(pair_tile + (axis.pair_start[output] - pair) * kPair,
                            axis.low_pairs.data() + at,
                            kSplits ? axis.high_pairs.data() + at : nullptr,
                            axis.pair_count[output], rounding, block + i);
      }
      for (int c = 0; c < kChannels; ++c) {
        turn_levels(block + c * kOutputs, c * plane_stride(count) + x, out);
      }
    }
  }
}

// 32 outputs of one pair of rows, added to the sums: [0] outputs 0..7, [1] 8..15, and so on, in the
// order of _mm256_unpack (0..3, 16..19; 4..7, 20..23; ...).
template <bool kSplits>
CANTILEVER_AVX2_INLINE void add_rows(const uint8_t* first, const uint8_t* second, int32_t low_pair,
                                     int32_t high_pair, __m256i* low, __m256i* high) {
  const __m256i zero = _mm256_setzero_si256();
  const __m256i a = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(first));
  const __m256i b = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(second));
  const __m256i ab[2] = {_mm256_unpacklo_epi8(a, b), _mm256_unpackhi_epi8(a, b)};
#pragma GCC unroll 4
  for (int i = 0; i < 4; ++i) {
    const __m256i words =
        i % 2 == 0 ? _mm256_unpacklo_epi8(ab[i / 2], zero) : _mm256_unpackhi_epi8(ab[i / 2], zero);
    low[i] = _mm256_add_epi32(low[i], _mm256_madd_epi16(words, _mm256_set1_epi32(low_pair)));
    if (kSplits) {
      high[i] = _mm256_add_epi32(high[i], _mm256_madd_epi16(words, _mm256_set1_epi32(high_pair)));
    }
  }
}

int32_t packed(int32_t first, int32_t second) {
  return static_cast<int32_t>((static_cast<uint32_t>(second) << 16U) |
                              (static_cast<uint32_t>(first) & 0xffffU));
}

template <bool kSplits>
CANTILEVER_AVX2_INLINE void vertical(const ResampleAxis& axis, int64_t y,
                                     const uint8_t* const* rows, int64_t count, uint8_t* out) {
  const Rounding rounding = rounding_of(axis);
  const int32_t* weights = axis.whole.data() + y * axis.taps;
  const int length = axis.length[static_cast<size_t>(y)];
  constexpr int64_t kStep = 32;
  for (int64_t x = 0; x < count; x += kStep) {
    __m256i low[4];
    __m256i high[4];
#pragma GCC unroll 4
    for (int i = 0; i < 4; ++i) low[i] = high[i] = _mm256_setzero_si256();
    for (int j = 0; j < length; j += 2) {
      const bool alone = j + 1 == length;
      const int32_t a = weights[j];
      const int32_t b = alone ? 0 : weights[j + 1];
      constexpr int32_t kMask = (1 << kLowWeightBits) - 1;
      const int32_t low_pair = kSplits ? packed(a & kMask, b & kMask) : packed(a, b);
      const int32_t high_pair = packed(a >> kLowWeightBits, b >> kLowWeightBits);
      add_rows<kSplits>(rows[j] + x, rows[alone ? j : j + 1] + x, low_pair, high_pair, low, high);
    }
#pragma GCC unroll 4
    for (int i = 0; i < 4; ++i) {
      low[i] = finished(low[i], high[i], kSplits, rounding.half, rounding.shift);
    }
    const __m256i bytes =
        _mm256_packus_epi16(_mm256_packs_epi32(low[0], low[1]), _mm256_packs_epi32(low[2], low[3]));
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(out + x), bytes);
  }
}

}  // namespace

CANTILEVER_AVX2 void level_horizontal(const ResampleAxis& axis, const SourceRows& rows, void* tile,
                                      const std::array<uint8_t*, kRowsPerBlock>& out) {
  if (axis.high_pairs.empty()) {
    horizontal<false>(axis, rows, tile, out);
  } else {
    horizontal<true>(axis, rows, tile, out);
  }
}

CANTILEVER_AVX2 void level_vertical(const ResampleAxis& axis, int64_t y, const uint8_t* const* rows,
                                    int64_t count, uint8_t* out) {
  if (axis.high_pairs.empty()) {
    vertical<false>(axis, y, rows, count, out);
  } else {
    vertical<true>(axis, y, rows, count, out);
  }
}

}  // namespace cantilever::avx2

#endif
