#include "cantilever/data/image/resample_kernels.h"

#if defined(__x86_64__)

#include <algorithm>

#include "cantilever/data/image/resample_avx2.h"

// See Note [The rounding of torch's sums] in resample_portable.cpp.

namespace cantilever {
namespace avx2 {
namespace {

constexpr int kOutputs = 8;  // outputs between two transpositions
constexpr int64_t kColumn = int64_t{kChannels} * kRowsPerBlock;  // values of a tile's column

// byte / 255 rounded once, by a reciprocal of two floats; tested for every byte.
CANTILEVER_AVX2_INLINE __m256 divided_by_255(__m256 level) {
  constexpr float kHigh = 1.0F / 255.0F;
  constexpr auto kLow = static_cast<float>(1.0 / 255.0 - static_cast<double>(kHigh));
  return _mm256_fmadd_ps(level, _mm256_set1_ps(kHigh), _mm256_mul_ps(level, _mm256_set1_ps(kLow)));
}

template <bool kDivides>
CANTILEVER_AVX2_INLINE void fill_tile(const SourceRows& rows, int64_t first, int64_t samples,
                                      float* tile) {
  for_turned_bytes(rows, first, samples,
                   [tile](const __m128i* turned, int64_t k)
                       __attribute__((always_inline, target("avx2,fma"))) {
                         float* to = tile + k * kRowsPerBlock;
#pragma GCC unroll 8
                         for (int i = 0; i < 8; ++i) {
                           const __m128i even = turned[i];
                           const __m128i odd = _mm_unpackhi_epi64(even, even);
                           __m256 a = _mm256_cvtepi32_ps(_mm256_cvtepu8_epi32(even));
                           __m256 b = _mm256_cvtepi32_ps(_mm256_cvtepu8_epi32(odd));
                           if constexpr (kDivides) {
                             a = divided_by_255(a);
                             b = divided_by_255(b);
                           }
                           _mm256_store_ps(to + 16 * i, a);
                           _mm256_store_ps(to + 16 * i + 8, b);
                         }
                       });
}

// A product that is rounded: the empty statement keeps the compiler from contracting it and the sum
// it goes into to an FMA.
CANTILEVER_AVX2_INLINE __m256 rounded_product(__m256 tap, __m256 weight) {
  __m256 product = _mm256_mul_ps(tap, weight);
  __asm__("" : "+x"(product));
  return product;
}

CANTILEVER_AVX2_INLINE __m256 add_product(__m256 sum, __m256 tap, __m256 weight) {
  return _mm256_add_ps(sum, rounded_product(tap, weight));
}

// One output of three channels and eight rows. kLength: the number of taps, 0 when it is not known
// to the compiler.
template <int kLength>
CANTILEVER_AVX2_INLINE void sum_output(const float* source, const float* weights, int length,
                                       float* out) {
  if constexpr (kLength > 0) length = kLength;
  __m256 weight = _mm256_broadcast_ss(weights);
  __m256 red = rounded_product(_mm256_load_ps(source), weight);
  __m256 green = rounded_product(_mm256_load_ps(source + 8), weight);
  __m256 blue = rounded_product(_mm256_load_ps(source + 16), weight);
  const int grouped = 1 + (length - 1) / 4 * 4;
#pragma GCC unroll 12
  for (int j = 1; j < grouped; ++j) {
    const float* tap = source + j * kColumn;
    weight = _mm256_broadcast_ss(weights + j);
    red = add_product(red, _mm256_load_ps(tap), weight);
    green = add_product(green, _mm256_load_ps(tap + 8), weight);
    blue = add_product(blue, _mm256_load_ps(tap + 16), weight);
  }
#pragma GCC unroll 4
  for (int j = grouped; j < length; ++j) {
    const float* tap = source + j * kColumn;
    weight = _mm256_broadcast_ss(weights + j);
    red = _mm256_fmadd_ps(_mm256_load_ps(tap), weight, red);
    green = _mm256_fmadd_ps(_mm256_load_ps(tap + 8), weight, green);
    blue = _mm256_fmadd_ps(_mm256_load_ps(tap + 16), weight, blue);
  }
  _mm256_store_ps(out, red);
  _mm256_store_ps(out + kOutputs * kRowsPerBlock, green);
  _mm256_store_ps(out + 2 * kOutputs * kRowsPerBlock, blue);
}

CANTILEVER_AVX2_INLINE void sum_any_output(const float* source, const float* weights, int length,
                                           float* out) {
  switch (length) {
    case 4:
      return sum_output<4>(source, weights, length, out);
    case 5:
      return sum_output<5>(source, weights, length, out);
    case 6:
      return sum_output<6>(source, weights, length, out);
    case 7:
      return sum_output<7>(source, weights, length, out);
    case 8:
      return sum_output<8>(source, weights, length, out);
    case 9:
      return sum_output<9>(source, weights, length, out);
    default:
      return sum_output<0>(source, weights, length, out);
  }
}

// Eight vectors of eight rows to eight rows of eight outputs.
CANTILEVER_AVX2_INLINE void turn_floats(const float* block, int64_t offset,
                                        const std::array<float*, kRowsPerBlock>& out) {
  __m256 half[8];
#pragma GCC unroll 4
  for (int i = 0; i < 4; ++i) {
    // Outputs i and i + 4: rows 0..3 in half[i], rows 4..7 in half[4 + i].
    const float* a = block + i * kRowsPerBlock;
    const float* b = a + 4 * kRowsPerBlock;
    half[i] = _mm256_insertf128_ps(_mm256_castps128_ps256(_mm_load_ps(a)), _mm_load_ps(b), 1);
    half[4 + i] =
        _mm256_insertf128_ps(_mm256_castps128_ps256(_mm_load_ps(a + 4)), _mm_load_ps(b + 4), 1);
  }
#pragma GCC unroll 2
  for (int h = 0; h < 2; ++h) {
    const __m256* from = half + 4 * h;
    const __m256 low01 = _mm256_unpacklo_ps(from[0], from[1]);
    const __m256 high01 = _mm256_unpackhi_ps(from[0], from[1]);
    const __m256 low23 = _mm256_unpacklo_ps(from[2], from[3]);
    const __m256 high23 = _mm256_unpackhi_ps(from[2], from[3]);
    const auto row = static_cast<size_t>(4 * h);
    _mm256_storeu_ps(out[row] + offset, _mm256_shuffle_ps(low01, low23, 0x44));
    _mm256_storeu_ps(out[row + 1] + offset, _mm256_shuffle_ps(low01, low23, 0xEE));
    _mm256_storeu_ps(out[row + 2] + offset, _mm256_shuffle_ps(high01, high23, 0x44));
    _mm256_storeu_ps(out[row + 3] + offset, _mm256_shuffle_ps(high01, high23, 0xEE));
  }
}

CANTILEVER_AVX2 void float_horizontal(const ResampleAxis& axis, const SourceRows& rows,
                                      bool divides, void* tile,
                                      const std::array<float*, kRowsPerBlock>& out) {
  auto* values = static_cast<float*>(tile);
  alignas(32) std::array<float, kChannels * kOutputs * kRowsPerBlock> block = {};
  const int64_t count = axis.window.count;
  const int64_t step = outputs_per_tile(axis);
  for (int64_t begin = 0; begin < count; begin += step) {
    const int64_t end = std::min(begin + step, count);
    const int64_t column = axis.start[static_cast<size_t>(begin)];
    const auto last = static_cast<size_t>(end - 1);
    const int64_t samples = (axis.start[last] + axis.length[last] - column) * kChannels;
    const int64_t first = (column - axis.source_first) * kChannels;
    if (divides) {
      fill_tile<true>(rows, first, samples, values);
    } else {
      fill_tile<false>(rows, first, samples, values);
    }
    for (int64_t x = begin; x < end; x += kOutputs) {
      const int64_t outputs = std::min<int64_t>(end - x, kOutputs);
      for (int64_t i = 0; i < outputs; ++i) {
        const auto output = static_cast<size_t>(x + i);
        sum_any_output(values + (axis.start[output] - column) * kColumn,
                       axis.weights.data() + (x + i) * axis.taps, axis.length[output],
                       block.data() + i * kRowsPerBlock);
      }
      for (int c = 0; c < kChannels; ++c) {
        turn_floats(block.data() + c * kOutputs * kRowsPerBlock, c * plane_stride(count) + x, out);
      }
    }
  }
}

CANTILEVER_AVX2_INLINE __m256i bfloat16_words(__m256 value) {
  const __m256i bits = _mm256_castps_si256(value);
  const __m256i odd = _mm256_and_si256(_mm256_srli_epi32(bits, 16), _mm256_set1_epi32(1));
  const __m256i bias = _mm256_add_epi32(odd, _mm256_set1_epi32(0x7fff));
  return _mm256_srli_epi32(_mm256_add_epi32(bits, bias), 16);
}

CANTILEVER_AVX2_INLINE __m256i level_words(__m256 value, float scale) {
  const __m256 scaled = _mm256_mul_ps(value, _mm256_set1_ps(scale));
  const __m256 cut =
      _mm256_min_ps(_mm256_max_ps(scaled, _mm256_setzero_ps()), _mm256_set1_ps(255.0F));
  return _mm256_cvtps_epi32(cut);
}

// Four finished vectors to `out`.
template <FloatForm kForm>
CANTILEVER_AVX2_INLINE void store_finished(const FloatFinish& finish, const __m256* sums,
                                           void* out) {
  if constexpr (kForm == FloatForm::kLevels) {
    const __m256i low =
        _mm256_packs_epi32(level_words(sums[0], finish.scale), level_words(sums[1], finish.scale));
    const __m256i high =
        _mm256_packs_epi32(level_words(sums[2], finish.scale), level_words(sums[3], finish.scale));
    const __m256i order = _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7);
    const __m256i bytes = _mm256_permutevar8x32_epi32(_mm256_packus_epi16(low, high), order);
    _mm256_storeu_si256(static_cast<__m256i*>(out), bytes);
    return;
  }
  __m256 values[4];
#pragma GCC unroll 4
  for (int i = 0; i < 4; ++i) {
    values[i] = sums[i];
    if constexpr (kForm != FloatForm::kRaw) {
      const __m256 centred = _mm256_sub_ps(sums[i], _mm256_set1_ps(finish.mean));
      values[i] = _mm256_div_ps(centred, _mm256_set1_ps(finish.std));
    }
  }
  if constexpr (kForm == FloatForm::kBfloat16) {
#pragma GCC unroll 2
    for (int i = 0; i < 2; ++i) {
      const __m256i words =
          _mm256_packus_epi32(bfloat16_words(values[2 * i]), bfloat16_words(values[2 * i + 1]));
      _mm256_storeu_si256(static_cast<__m256i*>(out) + i, _mm256_permute4x64_epi64(words, 0xD8));
    }
  } else {
#pragma GCC unroll 4
    for (int i = 0; i < 4; ++i) _mm256_storeu_ps(static_cast<float*>(out) + 8 * i, values[i]);
  }
}

template <FloatForm kForm>
CANTILEVER_AVX2_INLINE void vertical_form(const float* const* rows, int64_t offset,
                                          const float* weights, int length, int64_t count,
                                          const FloatFinish& finish, void* out) {
  constexpr int kWidth = 4;
  constexpr int64_t kStep = kWidth * 8;
  constexpr size_t kSize = kForm == FloatForm::kLevels ? 1 : kForm == FloatForm::kBfloat16 ? 2 : 4;
  const int grouped = 1 + (length - 1) / 4 * 4;
  for (int64_t x = 0; x < count; x += kStep) {
    __m256 sums[kWidth];
    const float* row = rows[0] + offset + x;
    __m256 weight = _mm256_broadcast_ss(weights);
#pragma GCC unroll 4
    for (int i = 0; i < kWidth; ++i)
      sums[i] = rounded_product(_mm256_loadu_ps(row + 8 * i), weight);
    int j = 1;
    for (; j < grouped; ++j) {
      row = rows[j] + offset + x;
      weight = _mm256_broadcast_ss(weights + j);
#pragma GCC unroll 4
      for (int i = 0; i < kWidth; ++i) {
        sums[i] = add_product(sums[i], _mm256_loadu_ps(row + 8 * i), weight);
      }
    }
    for (; j < length; ++j) {
      row = rows[j] + offset + x;
      weight = _mm256_broadcast_ss(weights + j);
#pragma GCC unroll 4
      for (int i = 0; i < kWidth; ++i) {
        sums[i] = _mm256_fmadd_ps(_mm256_loadu_ps(row + 8 * i), weight, sums[i]);
      }
    }
    std::byte* to = static_cast<std::byte*>(out) + static_cast<size_t>(x) * kSize;
    if (count - x >= kStep) {
      store_finished<kForm>(finish, sums, to);
    } else {
      alignas(32) std::array<std::byte, kStep * kSize> rest;
      store_finished<kForm>(finish, sums, rest.data());
      std::memcpy(to, rest.data(), static_cast<size_t>(count - x) * kSize);
    }
  }
}

CANTILEVER_AVX2 void float_vertical(const float* const* rows, int64_t offset, const float* weights,
                                    int length, int64_t count, const FloatFinish& finish,
                                    void* out) {
  switch (finish.form) {
    case FloatForm::kRaw:
      return vertical_form<FloatForm::kRaw>(rows, offset, weights, length, count, finish, out);
    case FloatForm::kFloat32:
      return vertical_form<FloatForm::kFloat32>(rows, offset, weights, length, count, finish, out);
    case FloatForm::kBfloat16:
      return vertical_form<FloatForm::kBfloat16>(rows, offset, weights, length, count, finish, out);
    case FloatForm::kLevels:
      return vertical_form<FloatForm::kLevels>(rows, offset, weights, length, count, finish, out);
  }
}

constexpr ResampleKernels kKernels = {float_horizontal, float_vertical, level_horizontal,
                                      level_vertical};

}  // namespace
}  // namespace avx2

const ResampleKernels* avx2_resample_kernels() {
  static const bool has_avx2 =
      __builtin_cpu_supports("avx2") != 0 && __builtin_cpu_supports("fma") != 0;
  return has_avx2 ? &avx2::kKernels : nullptr;
}

}  // namespace cantilever

#else

namespace cantilever {
const ResampleKernels* avx2_resample_kernels() {
  return nullptr;
}
}  // namespace cantilever

#endif
