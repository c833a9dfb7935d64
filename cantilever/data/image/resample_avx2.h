#pragma once

// What the AVX2 kernels share. Included by .cpp files for x86-64 only.

#include <immintrin.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "cantilever/data/image/resample_kernels.h"

#define CANTILEVER_AVX2 __attribute__((target("avx2,fma")))
#define CANTILEVER_AVX2_INLINE inline __attribute__((always_inline, target("avx2,fma")))

namespace cantilever::avx2 {

constexpr int kChannels = 3;
constexpr int kSamplesPerStep = 16;  // bytes of each row that are turned at once

void level_horizontal(const ResampleAxis& axis, const SourceRows& rows, void* tile,
                      const std::array<uint8_t*, kRowsPerBlock>& out);
void level_vertical(const ResampleAxis& axis, int64_t y, const uint8_t* const* rows, int64_t count,
                    uint8_t* out);

// Sixteen bytes of each of eight rows, turned: turned[i] holds the eight rows of sample 2i, then of
// sample 2i + 1.
CANTILEVER_AVX2_INLINE void turn_bytes(const std::array<const uint8_t*, kRowsPerBlock>& rows,
                                       int64_t at, __m128i* turned) {
  __m128i pairs[8];
#pragma GCC unroll 4
  for (int i = 0; i < 4; ++i) {
    const __m128i a =
        _mm_loadu_si128(reinterpret_cast<const __m128i*>(rows[static_cast<size_t>(2 * i)] + at));
    const __m128i b = _mm_loadu_si128(
        reinterpret_cast<const __m128i*>(rows[static_cast<size_t>(2 * i + 1)] + at));
    pairs[i] = _mm_unpacklo_epi8(a, b);      // samples 0..7
    pairs[4 + i] = _mm_unpackhi_epi8(a, b);  // samples 8..15
  }
#pragma GCC unroll 2
  for (int half = 0; half < 2; ++half) {
    const __m128i* from = pairs + 4 * half;
    const __m128i low01 = _mm_unpacklo_epi16(from[0], from[1]);
    const __m128i low23 = _mm_unpacklo_epi16(from[2], from[3]);
    const __m128i high01 = _mm_unpackhi_epi16(from[0], from[1]);
    const __m128i high23 = _mm_unpackhi_epi16(from[2], from[3]);
    turned[4 * half] = _mm_unpacklo_epi32(low01, low23);
    turned[4 * half + 1] = _mm_unpackhi_epi32(low01, low23);
    turned[4 * half + 2] = _mm_unpacklo_epi32(high01, high23);
    turned[4 * half + 3] = _mm_unpackhi_epi32(high01, high23);
  }
}

// Calls step(turned, k) for every 16 samples of the rows from `first` on; behind the last sample
// nothing is read, what is turned there is zero.
template <class Step>
CANTILEVER_AVX2_INLINE void for_turned_bytes(const SourceRows& rows, int64_t first, int64_t samples,
                                             const Step& step) {
  __m128i turned[8];
  int64_t k = 0;
  for (; k + kSamplesPerStep <= samples; k += kSamplesPerStep) {
    turn_bytes(rows, first + k, turned);
    step(turned, k);
  }
  if (k == samples) return;
  alignas(16) std::array<std::array<uint8_t, kSamplesPerStep>, kRowsPerBlock> rest = {};
  SourceRows last;
  for (size_t r = 0; r < kRowsPerBlock; ++r) {
    std::memcpy(rest[r].data(), rows[r] + first + k, static_cast<size_t>(samples - k));
    last[r] = rest[r].data();
  }
  turn_bytes(last, 0, turned);
  step(turned, k);
}

}  // namespace cantilever::avx2
