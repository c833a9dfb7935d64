#include "cantilever/data/image/pixel_finish.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>

#if defined(__x86_64__)
#include <immintrin.h>
#define CANTILEVER_AVX2 __attribute__((target("avx2,fma")))
#define CANTILEVER_AVX2_INLINE inline __attribute__((always_inline, target("avx2,fma")))
#endif

namespace cantilever {
namespace {

// The part of a reciprocal that its float32 leaves out.
float low_part(double exact, float high) {
  return static_cast<float>(exact - static_cast<double>(high));
}

void set_factors(float mean, float std, bool fused, LevelTable& table) {
  if (!fused) {
    table.scale_high = 1.0F / 255.0F;
    table.scale_low = low_part(1.0 / 255.0, table.scale_high);
  }
  table.mean = mean;
  table.inverse_high = 1.0F / std;
  table.inverse_low = low_part(1.0 / static_cast<double>(std), table.inverse_high);
}

// What the vector instructions compute.
float computed(const LevelTable& table, float level) {
  const float scaled = std::fma(level, table.scale_high, level * table.scale_low);
  const float centred = scaled - table.mean;
  return std::fma(centred, table.inverse_high, centred * table.inverse_low);
}

float finished(const FloatFinish& finish, float value) {
  return (value - finish.mean) / finish.std;
}

void expand_by_table(const LevelTable& table, const uint8_t* levels, int64_t count, float* out) {
  for (int64_t i = 0; i < count; ++i) out[i] = table.values[levels[i]];
}

#if defined(__x86_64__)

bool has_avx2() {
  static const bool has = __builtin_cpu_supports("avx2") != 0 && __builtin_cpu_supports("fma") != 0;
  return has;
}

struct Factors {
  __m256 scale_high, scale_low, mean, inverse_high, inverse_low;
};

CANTILEVER_AVX2_INLINE Factors load_factors(const LevelTable& table) {
  return {_mm256_set1_ps(table.scale_high), _mm256_set1_ps(table.scale_low),
          _mm256_set1_ps(table.mean), _mm256_set1_ps(table.inverse_high),
          _mm256_set1_ps(table.inverse_low)};
}

CANTILEVER_AVX2_INLINE __m256 expanded(const Factors& f, const uint8_t* levels) {
  const __m128i bytes = _mm_loadl_epi64(reinterpret_cast<const __m128i*>(levels));
  const __m256 level = _mm256_cvtepi32_ps(_mm256_cvtepu8_epi32(bytes));
  const __m256 scaled = _mm256_fmadd_ps(level, f.scale_high, _mm256_mul_ps(level, f.scale_low));
  const __m256 centred = _mm256_sub_ps(scaled, f.mean);
  return _mm256_fmadd_ps(centred, f.inverse_high, _mm256_mul_ps(centred, f.inverse_low));
}

CANTILEVER_AVX2 void expand_avx2(const LevelTable& table, const uint8_t* levels, int64_t count,
                                 float* out) {
  const Factors factors = load_factors(table);
  int64_t i = 0;
  for (; i + 32 <= count; i += 32) {
#pragma GCC unroll 4
    for (int k = 0; k < 4; ++k) {
      _mm256_storeu_ps(out + i + 8 * k, expanded(factors, levels + i + 8 * k));
    }
  }
  expand_by_table(table, levels + i, count - i, out + i);
}

CANTILEVER_AVX2 void widen_bfloat16_avx2(const uint16_t* values, int64_t count, float* out) {
  for (int64_t i = 0; i + 8 <= count; i += 8) {
    const __m128i words = _mm_loadu_si128(reinterpret_cast<const __m128i*>(values + i));
    const __m256i bits = _mm256_slli_epi32(_mm256_cvtepu16_epi32(words), 16);
    _mm256_storeu_ps(out + i, _mm256_castsi256_ps(bits));
  }
}

#endif

}  // namespace

uint16_t to_bfloat16(float value) {
  const auto bits = std::bit_cast<uint32_t>(value);
  return static_cast<uint16_t>((bits + 0x7fffU + ((bits >> 16U) & 1U)) >> 16U);
}

LevelTable make_level_table(float mean, float std, bool fused) {
  LevelTable table = {};
  if (fused) {
    mean *= 255.0F;
    std *= 255.0F;
  }
  set_factors(mean, std, fused, table);
  table.computes = true;
  for (size_t i = 0; i < 256; ++i) {
    const auto level = static_cast<float>(i);
    const float value = ((fused ? level : level / 255.0F) - mean) / std;
    table.values[i] = value;
    table.halves[i] = to_bfloat16(value);
    table.computes = table.computes && computed(table, level) == value;
  }
  return table;
}

void expand_levels_portable(const LevelTable& table, const uint8_t* levels, int64_t count,
                            float* out) {
  expand_by_table(table, levels, count, out);
}

void expand_levels(const LevelTable& table, const uint8_t* levels, int64_t count, float* out) {
#if defined(__x86_64__)
  if (table.computes && has_avx2()) {
    expand_avx2(table, levels, count, out);
    return;
  }
#endif
  expand_by_table(table, levels, count, out);
}

void expand_levels(const LevelTable& table, const uint8_t* levels, int64_t count, uint16_t* out) {
  for (int64_t i = 0; i < count; ++i) out[i] = table.halves[levels[i]];
}

void expand_bfloat16(const uint16_t* values, int64_t count, float* out) {
  int64_t i = 0;
#if defined(__x86_64__)
  if (has_avx2()) {
    i = count / 8 * 8;
    widen_bfloat16_avx2(values, i, out);
  }
#endif
  for (; i < count; ++i) out[i] = std::bit_cast<float>(uint32_t{values[i]} << 16U);
}

void finish_floats(const FloatFinish& finish, const float* values, int64_t count, void* out) {
  switch (finish.form) {
    case FloatForm::kRaw:
      std::memcpy(out, values, static_cast<size_t>(count) * sizeof(float));
      return;
    case FloatForm::kFloat32:
      for (int64_t i = 0; i < count; ++i) {
        static_cast<float*>(out)[i] = finished(finish, values[i]);
      }
      return;
    case FloatForm::kBfloat16:
      for (int64_t i = 0; i < count; ++i) {
        static_cast<uint16_t*>(out)[i] = to_bfloat16(finished(finish, values[i]));
      }
      return;
    case FloatForm::kLevels:
      for (int64_t i = 0; i < count; ++i) {
        const float cut = std::clamp(values[i] * finish.scale, 0.0F, 255.0F);
        static_cast<uint8_t*>(out)[i] = static_cast<uint8_t>(std::nearbyint(cut));
      }
      return;
  }
}

}  // namespace cantilever
