#include "cantilever/data/image/jpeg_color_avx2.h"

#if defined(__x86_64__)

#include <immintrin.h>

namespace cantilever {
namespace {

#define CANTILEVER_AVX2 __attribute__((target("avx2")))
#define CANTILEVER_AVX2_INLINE inline __attribute__((always_inline, target("avx2")))

CANTILEVER_AVX2_INLINE __m256i load(const uint8_t* from) {
  return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from));
}
CANTILEVER_AVX2_INLINE void store(uint8_t* to, __m256i bytes) {
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(to), bytes);
}
CANTILEVER_AVX2_INLINE __m256i load_16(const uint8_t* from) {
  return _mm256_cvtepu8_epi16(_mm_loadu_si128(reinterpret_cast<const __m128i*>(from)));
}
CANTILEVER_AVX2_INLINE __m256i times_3(__m256i x) {
  return _mm256_add_epi16(x, _mm256_add_epi16(x, x));
}

CANTILEVER_AVX2_INLINE __m256i column_sum(const uint8_t* near, const uint8_t* far) {
  return _mm256_add_epi16(times_3(load_16(near)), load_16(far));
}

struct Levels {
  __m256i red;
  __m256i green;
  __m256i blue;
};

// Sixteen pixels in 16 bits; cb and cr around zero. mulhrs is a rounded product over 2^15: these
// two factors give 1.402 and 1.772 rounded as the tables of libjpeg have them, for each of the 256
// values. Green takes both terms in 32 bits: -0.71414 is -1 + 18734 / 2^16.
CANTILEVER_AVX2_INLINE Levels convert(__m256i y, __m256i cb, __m256i cr) {
  const __m256i red = _mm256_mulhrs_epi16(_mm256_add_epi16(cr, cr), _mm256_set1_epi16(22971));
  const __m256i blue = _mm256_mulhrs_epi16(_mm256_add_epi16(cb, cb), _mm256_set1_epi16(29033));
  const __m256i factors = _mm256_set1_epi32(18734 * 65536 + (65536 - 22554));
  const __m256i half = _mm256_set1_epi32(1 << 15);
  const __m256i low = _mm256_madd_epi16(_mm256_unpacklo_epi16(cb, cr), factors);
  const __m256i high = _mm256_madd_epi16(_mm256_unpackhi_epi16(cb, cr), factors);
  const __m256i green_rest =
      _mm256_packs_epi32(_mm256_srai_epi32(_mm256_add_epi32(low, half), 16),
                         _mm256_srai_epi32(_mm256_add_epi32(high, half), 16));
  const __m256i green = _mm256_sub_epi16(green_rest, cr);
  return {_mm256_add_epi16(y, red), _mm256_add_epi16(y, green), _mm256_add_epi16(y, blue)};
}

// In each half: byte i of the result is byte i / 3 of the channel where i % 3 is right, else zero.
CANTILEVER_AVX2_INLINE __m256i spread(__m256i channel, __m128i pattern) {
  return _mm256_shuffle_epi8(channel, _mm256_broadcastsi128_si256(pattern));
}

CANTILEVER_AVX2_INLINE __m256i join(__m256i x, __m256i y, __m256i z) {
  return _mm256_or_si256(_mm256_or_si256(x, y), z);
}

// 32 pixels, 96 bytes.
CANTILEVER_AVX2_INLINE void store_rgb(__m256i r, __m256i g, __m256i b, uint8_t* rgb) {
  constexpr char z = -1;
  const __m128i r0 = _mm_setr_epi8(0, z, z, 1, z, z, 2, z, z, 3, z, z, 4, z, z, 5);
  const __m128i g0 = _mm_setr_epi8(z, 0, z, z, 1, z, z, 2, z, z, 3, z, z, 4, z, z);
  const __m128i b0 = _mm_setr_epi8(z, z, 0, z, z, 1, z, z, 2, z, z, 3, z, z, 4, z);
  const __m128i r1 = _mm_setr_epi8(z, z, 6, z, z, 7, z, z, 8, z, z, 9, z, z, 10, z);
  const __m128i g1 = _mm_setr_epi8(5, z, z, 6, z, z, 7, z, z, 8, z, z, 9, z, z, 10);
  const __m128i b1 = _mm_setr_epi8(z, 5, z, z, 6, z, z, 7, z, z, 8, z, z, 9, z, z);
  const __m128i r2 = _mm_setr_epi8(z, 11, z, z, 12, z, z, 13, z, z, 14, z, z, 15, z, z);
  const __m128i g2 = _mm_setr_epi8(z, z, 11, z, z, 12, z, z, 13, z, z, 14, z, z, 15, z);
  const __m128i b2 = _mm_setr_epi8(10, z, z, 11, z, z, 12, z, z, 13, z, z, 14, z, z, 15);
  const __m256i first = join(spread(r, r0), spread(g, g0), spread(b, b0));
  const __m256i second = join(spread(r, r1), spread(g, g1), spread(b, b1));
  const __m256i third = join(spread(r, r2), spread(g, g2), spread(b, b2));
  store(rgb, _mm256_permute2x128_si256(first, second, 0x20));
  store(rgb + 32, _mm256_permute2x128_si256(third, first, 0x30));
  store(rgb + 64, _mm256_permute2x128_si256(second, third, 0x31));
}

CANTILEVER_AVX2 void ycc_to_rgb(const uint8_t* y, const uint8_t* cb, const uint8_t* cr, int count,
                                uint8_t* rgb) {
  const __m256i zero = _mm256_setzero_si256();
  const __m256i centre = _mm256_set1_epi16(128);
  for (int i = 0; i < count; i += 32, rgb += 96) {
    const __m256i luma = load(y + i);
    const __m256i blue = load(cb + i);
    const __m256i red = load(cr + i);
    const Levels low = convert(_mm256_unpacklo_epi8(luma, zero),
                               _mm256_sub_epi16(_mm256_unpacklo_epi8(blue, zero), centre),
                               _mm256_sub_epi16(_mm256_unpacklo_epi8(red, zero), centre));
    const Levels high = convert(_mm256_unpackhi_epi8(luma, zero),
                                _mm256_sub_epi16(_mm256_unpackhi_epi8(blue, zero), centre),
                                _mm256_sub_epi16(_mm256_unpackhi_epi8(red, zero), centre));
    store_rgb(_mm256_packus_epi16(low.red, high.red), _mm256_packus_epi16(low.green, high.green),
              _mm256_packus_epi16(low.blue, high.blue), rgb);
  }
}

CANTILEVER_AVX2 void grey_to_rgb(const uint8_t* grey, int count, uint8_t* rgb) {
  for (int i = 0; i < count; i += 32, rgb += 96) {
    const __m256i levels = load(grey + i);
    store_rgb(levels, levels, levels, rgb);
  }
}

CANTILEVER_AVX2 void upsample_across(const uint8_t* from, int count, uint8_t* to) {
  const __m256i one = _mm256_set1_epi16(1);
  const __m256i two = _mm256_set1_epi16(2);
  for (int i = 0; i < count; i += 16) {
    const __m256i centre = times_3(load_16(from + i));
    const __m256i before = _mm256_add_epi16(load_16(from + i - 1), one);
    const __m256i behind = _mm256_add_epi16(load_16(from + i + 1), two);
    const __m256i even = _mm256_srli_epi16(_mm256_add_epi16(centre, before), 2);
    const __m256i odd = _mm256_srli_epi16(_mm256_add_epi16(centre, behind), 2);
    store(to + 2 * i, _mm256_or_si256(even, _mm256_slli_epi16(odd, 8)));
  }
}

CANTILEVER_AVX2 void upsample_down(const uint8_t* near, const uint8_t* far, int bias, int count,
                                   uint8_t* to) {
  const __m256i rounding = _mm256_set1_epi16(static_cast<int16_t>(bias));
  for (int i = 0; i < count; i += 16) {
    const __m256i sum = _mm256_add_epi16(times_3(load_16(near + i)), load_16(far + i));
    const __m256i level = _mm256_srli_epi16(_mm256_add_epi16(sum, rounding), 2);
    const __m128i packed =
        _mm_packus_epi16(_mm256_castsi256_si128(level), _mm256_extracti128_si256(level, 1));
    _mm_storeu_si128(reinterpret_cast<__m128i*>(to + i), packed);
  }
}

CANTILEVER_AVX2 void upsample_both(const uint8_t* near, const uint8_t* far, int count,
                                   uint8_t* to) {
  const __m256i seven = _mm256_set1_epi16(7);
  const __m256i eight = _mm256_set1_epi16(8);
  for (int i = 0; i < count; i += 16) {
    const __m256i centre = times_3(column_sum(near + i, far + i));
    const __m256i before = _mm256_add_epi16(column_sum(near + i - 1, far + i - 1), eight);
    const __m256i behind = _mm256_add_epi16(column_sum(near + i + 1, far + i + 1), seven);
    const __m256i even = _mm256_srli_epi16(_mm256_add_epi16(centre, before), 4);
    const __m256i odd = _mm256_srli_epi16(_mm256_add_epi16(centre, behind), 4);
    store(to + 2 * i, _mm256_or_si256(even, _mm256_slli_epi16(odd, 8)));
  }
}

}  // namespace

const JpegColorKernels kJpegColorKernelsAvx2 = {ycc_to_rgb, grey_to_rgb, upsample_across,
                                                upsample_down, upsample_both};

}  // namespace cantilever

#endif
