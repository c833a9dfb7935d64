#include "cantilever/data/image/jpeg_idct_constants.h"

#if defined(__x86_64__)

#include <immintrin.h>

// Both blocks of a pair at once, one in each half of a vector. Note [The arithmetic of the vector
// code] is in jpeg_idct.cpp.

namespace cantilever {
namespace {

using namespace jpeg_idct;  // the constants

#define CANTILEVER_AVX2 __attribute__((target("avx2")))
#define CANTILEVER_AVX2_INLINE inline __attribute__((always_inline, target("avx2")))

CANTILEVER_AVX2_INLINE __m256i factors(int32_t even, int32_t odd) {
  return _mm256_set1_epi32(static_cast<int32_t>((static_cast<uint32_t>(even) & 0xffffU) |
                                                static_cast<uint32_t>(odd) << 16U));
}

// 32-bit numbers for eight 16-bit ones, by halves of the eight.
struct Wide {
  __m256i low;
  __m256i high;
};

CANTILEVER_AVX2_INLINE Wide rotate(const Wide& pairs, __m256i by) {
  return {_mm256_madd_epi16(pairs.low, by), _mm256_madd_epi16(pairs.high, by)};
}
CANTILEVER_AVX2_INLINE Wide interleave(__m256i even, __m256i odd) {
  return {_mm256_unpacklo_epi16(even, odd), _mm256_unpackhi_epi16(even, odd)};
}
CANTILEVER_AVX2_INLINE Wide add(const Wide& a, const Wide& b) {
  return {_mm256_add_epi32(a.low, b.low), _mm256_add_epi32(a.high, b.high)};
}
CANTILEVER_AVX2_INLINE Wide subtract(const Wide& a, const Wide& b) {
  return {_mm256_sub_epi32(a.low, b.low), _mm256_sub_epi32(a.high, b.high)};
}
CANTILEVER_AVX2_INLINE Wide scale(__m256i value) {
  const Wide raised = interleave(_mm256_setzero_si256(), value);
  return {_mm256_srai_epi32(raised.low, 16 - kConstBits),
          _mm256_srai_epi32(raised.high, 16 - kConstBits)};
}
template <int kShift>
CANTILEVER_AVX2_INLINE __m256i descale(const Wide& value) {
  return _mm256_packs_epi32(_mm256_srai_epi32(value.low, kShift),
                            _mm256_srai_epi32(value.high, kShift));
}

// The one-dimensional transform across the eight vectors.
template <int kShift>
CANTILEVER_AVX2_INLINE void transform_lines(__m256i* v) {
  const Wide in26 = interleave(v[2], v[6]);
  const Wide even2 = rotate(in26, factors(kF0541, kF0541 - kF1847));
  const Wide even3 = rotate(in26, factors(kF0541 + kF0765, kF0541));
  // The rounding of all outputs at once: it goes through every one of them.
  const __m256i half = _mm256_set1_epi32(1 << (kShift - 1));
  const Wide rounding = {half, half};
  const Wide even0 = add(scale(_mm256_add_epi16(v[0], v[4])), rounding);
  const Wide even1 = add(scale(_mm256_sub_epi16(v[0], v[4])), rounding);
  const Wide sums = interleave(_mm256_add_epi16(v[7], v[3]), _mm256_add_epi16(v[5], v[1]));
  const Wide z3 = rotate(sums, factors(kF1175 - kF1961, kF1175));
  const Wide z4 = rotate(sums, factors(kF1175, kF1175 - kF0390));
  const Wide in71 = interleave(v[7], v[1]);
  const Wide in53 = interleave(v[5], v[3]);
  const Wide odd0 = add(rotate(in71, factors(kF0298 - kF0899, -kF0899)), z3);
  const Wide odd3 = add(rotate(in71, factors(-kF0899, kF1501 - kF0899)), z4);
  const Wide odd1 = add(rotate(in53, factors(kF2053 - kF2562, -kF2562)), z4);
  const Wide odd2 = add(rotate(in53, factors(-kF2562, kF3072 - kF2562)), z3);
  const Wide sum0 = add(even0, even3);
  const Wide sum1 = add(even1, even2);
  const Wide sum2 = subtract(even1, even2);
  const Wide sum3 = subtract(even0, even3);
  v[0] = descale<kShift>(add(sum0, odd3));
  v[7] = descale<kShift>(subtract(sum0, odd3));
  v[1] = descale<kShift>(add(sum1, odd2));
  v[6] = descale<kShift>(subtract(sum1, odd2));
  v[2] = descale<kShift>(add(sum2, odd1));
  v[5] = descale<kShift>(subtract(sum2, odd1));
  v[3] = descale<kShift>(add(sum3, odd0));
  v[4] = descale<kShift>(subtract(sum3, odd0));
}

// Rows to columns, in each half.
CANTILEVER_AVX2_INLINE void transpose(__m256i* v) {
  __m256i a[8];
#pragma GCC unroll 4
  for (int i = 0; i < 4; ++i) {
    a[2 * i] = _mm256_unpacklo_epi16(v[i], v[i + 4]);
    a[2 * i + 1] = _mm256_unpackhi_epi16(v[i], v[i + 4]);
  }
  __m256i b[8];
#pragma GCC unroll 4
  for (int i = 0; i < 4; ++i) {
    b[2 * i] = _mm256_unpacklo_epi16(a[i], a[i + 4]);
    b[2 * i + 1] = _mm256_unpackhi_epi16(a[i], a[i + 4]);
  }
#pragma GCC unroll 4
  for (int i = 0; i < 4; ++i) {
    v[2 * i] = _mm256_unpacklo_epi16(b[i], b[i + 4]);
    v[2 * i + 1] = _mm256_unpackhi_epi16(b[i], b[i + 4]);
  }
}

CANTILEVER_AVX2_INLINE void store_rows(__m256i samples, int row, const JpegBlockPlace& first,
                                       const JpegBlockPlace& second) {
  const __m128i low = _mm256_castsi256_si128(samples);
  const __m128i high = _mm256_extracti128_si256(samples, 1);
  uint8_t* to = first.samples + row * first.stride;
  _mm_storel_epi64(reinterpret_cast<__m128i*>(to), low);
  _mm_storeh_pd(reinterpret_cast<double*>(to + first.stride), _mm_castsi128_pd(low));
  to = second.samples + row * second.stride;
  _mm_storel_epi64(reinterpret_cast<__m128i*>(to), high);
  _mm_storeh_pd(reinterpret_cast<double*>(to + second.stride), _mm_castsi128_pd(high));
}

// `v`: columns of 16-bit samples around zero.
CANTILEVER_AVX2_INLINE void store_columns(const __m256i* v, const JpegBlockPlace& first,
                                          const JpegBlockPlace& second) {
  const __m256i centre = _mm256_set1_epi8(-128);
  const __m256i columns04 = _mm256_packs_epi16(v[0], v[4]);
  const __m256i columns15 = _mm256_packs_epi16(v[1], v[5]);
  const __m256i columns26 = _mm256_packs_epi16(v[2], v[6]);
  const __m256i columns37 = _mm256_packs_epi16(v[3], v[7]);
  const __m256i left01 = _mm256_unpacklo_epi8(columns04, columns15);
  const __m256i left23 = _mm256_unpacklo_epi8(columns26, columns37);
  const __m256i right45 = _mm256_unpackhi_epi8(columns04, columns15);
  const __m256i right67 = _mm256_unpackhi_epi8(columns26, columns37);
  const __m256i upper_left = _mm256_unpacklo_epi16(left01, left23);
  const __m256i lower_left = _mm256_unpackhi_epi16(left01, left23);
  const __m256i upper_right = _mm256_unpacklo_epi16(right45, right67);
  const __m256i lower_right = _mm256_unpackhi_epi16(right45, right67);
  const __m256i rows[4] = {_mm256_unpacklo_epi32(upper_left, upper_right),
                           _mm256_unpackhi_epi32(upper_left, upper_right),
                           _mm256_unpacklo_epi32(lower_left, lower_right),
                           _mm256_unpackhi_epi32(lower_left, lower_right)};
#pragma GCC unroll 4
  for (int i = 0; i < 4; ++i) store_rows(_mm256_add_epi8(rows[i], centre), 2 * i, first, second);
}

// A block of one sample value.
CANTILEVER_AVX2_INLINE void store_flat(int16_t coefficient, uint16_t quantisation,
                                       const JpegBlockPlace& to) {
  const auto level = static_cast<int16_t>(static_cast<uint16_t>(
      static_cast<uint32_t>(coefficient) * static_cast<uint32_t>(quantisation) << kPass1Bits));
  const int rounded = (level + (1 << (kPass1Bits + 2))) >> (kPass1Bits + 3);
  const int sample = (rounded < -128 ? -128 : rounded > 127 ? 127 : rounded) + 128;
  const __m128i samples = _mm_set1_epi8(static_cast<char>(sample));
#pragma GCC unroll 8
  for (int row = 0; row < 8; ++row) {
    _mm_storel_epi64(reinterpret_cast<__m128i*>(to.samples + row * to.stride), samples);
  }
}

}  // namespace

CANTILEVER_AVX2 void transform_jpeg_pair_avx2(JpegBlockPair& pair,
                                              const JpegPairQuantisation& quantisation,
                                              const JpegBlockPlace& first,
                                              const JpegBlockPlace& second) {
  auto* coefficients = reinterpret_cast<__m256i*>(pair.coefficients.data());
  const auto* factor = reinterpret_cast<const __m256i*>(quantisation.data());
  if (pair.is_flat()) {
    constexpr size_t kLane = JpegBlockPair::kLane;
    store_flat(pair.coefficients[0], quantisation[0], first);
    store_flat(pair.coefficients[kLane], quantisation[kLane], second);
    _mm256_store_si256(coefficients, _mm256_setzero_si256());
    return;
  }
  __m256i v[8];
  v[0] = _mm256_mullo_epi16(_mm256_load_si256(coefficients), _mm256_loadu_si256(factor));
  const __m256i kept = _mm256_srai_epi16(_mm256_slli_epi16(v[0], kPass1Bits), kPass1Bits);
  if (__builtin_expect(_mm256_movemask_epi8(_mm256_cmpeq_epi16(kept, v[0])) != -1, 0)) {
    // Here the short cut of the first pass would show.
    transform_jpeg_pair_portable(pair, quantisation, first, second);
    return;
  }
#pragma GCC unroll 8
  for (int i = 1; i < 8; ++i) {
    v[i] = _mm256_mullo_epi16(_mm256_load_si256(coefficients + i), _mm256_loadu_si256(factor + i));
  }
#pragma GCC unroll 8
  for (int i = 0; i < 8; ++i) _mm256_store_si256(coefficients + i, _mm256_setzero_si256());
  transform_lines<kFirstShift>(v);
  transpose(v);
  transform_lines<kSecondShift>(v);
  store_columns(v, first, second);
}

}  // namespace cantilever

#endif
