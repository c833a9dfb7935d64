#include "cantilever/ops/dropout_kernels.h"

#include <algorithm>
#include <array>

#include "cantilever/base/rng.h"

#if defined(__x86_64__)
#include <immintrin.h>
#if defined(__GNUC__) && !defined(__clang__)
// GCC's own _mm512_undefined_epi32() sets a variable to itself (GCC bug 105593).
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#pragma GCC diagnostic ignored "-Wuninitialized"
#endif
#endif

namespace cantilever {
namespace {

constexpr uint64_t kMultiplier0 = 0xD2511F53;
constexpr uint64_t kMultiplier1 = 0xCD9E8D57;
constexpr int kRounds = 10;

// The comparison is made in 32 bits: a threshold of 2^32 becomes "keep the largest draw, times 0".
uint32_t threshold_of(const DropoutMask& mask) {
  return static_cast<uint32_t>(std::min<uint64_t>(mask.threshold, UINT32_MAX));
}
float scale_of(const DropoutMask& mask) {
  return mask.threshold > UINT32_MAX ? 0.0F : mask.scale;
}

void plain(const float* x, float* y, int64_t first, int64_t count, const DropoutMask& mask) {
  const std::array<uint32_t, 2> key = {static_cast<uint32_t>(mask.key),
                                       static_cast<uint32_t>(mask.key >> 32)};
  const uint32_t threshold = threshold_of(mask);
  const float scale = scale_of(mask);
  for (int64_t i = 0; i < count; i += 4) {
    const auto block = static_cast<uint64_t>((first + i) / 4);
    const std::array<uint32_t, 4> draws =
        philox4x32({static_cast<uint32_t>(block), static_cast<uint32_t>(block >> 32), 0, 0}, key);
    for (int64_t j = 0; j < std::min<int64_t>(4, count - i); ++j) {
      y[i + j] = x[i + j] * (draws[static_cast<size_t>(j)] >= threshold ? scale : 0.0F);
    }
  }
}

#if defined(__x86_64__)

// Both halves of the key in all rounds.
struct RoundKeys {
  explicit RoundKeys(uint64_t key) {
    auto low = static_cast<uint32_t>(key);
    auto high = static_cast<uint32_t>(key >> 32);
    for (size_t round = 0; round < kRounds; ++round) {
      first[round] = low;
      second[round] = high;
      low += 0x9E3779B9;
      high += 0xBB67AE85;
    }
  }
  std::array<uint64_t, kRounds> first;
  std::array<uint64_t, kRounds> second;
};

long long as_signed(uint64_t value) {
  return static_cast<long long>(value);
}

// One counter word of several blocks lies in the low halves of 64-bit lanes, where the 32 x 32 ->
// 64 bit product leaves it and wants it; the high halves hold whatever comes.
[[gnu::target("avx512f")]] void avx512(const float* x, float* y, int64_t first, int64_t count,
                                       const DropoutMask& mask) {
  const RoundKeys keys(mask.key);
  const __m512i multiplier0 = _mm512_set1_epi64(as_signed(kMultiplier0));
  const __m512i multiplier1 = _mm512_set1_epi64(as_signed(kMultiplier1));
  const __m512i lanes = _mm512_setr_epi64(0, 1, 2, 3, 4, 5, 6, 7);
  const __m512i order0 = _mm512_setr_epi64(0, 8, 1, 9, 2, 10, 3, 11);
  const __m512i order1 = _mm512_setr_epi64(4, 12, 5, 13, 6, 14, 7, 15);
  const __m512i threshold = _mm512_set1_epi32(static_cast<int>(threshold_of(mask)));
  const __m512 scale = _mm512_set1_ps(scale_of(mask));
  const auto store = [&](int64_t i, __m512i draws) __attribute__((target("avx512f"))) {
    const __mmask16 kept = _mm512_cmpge_epu32_mask(draws, threshold);
    const __m512 factor = _mm512_maskz_mov_ps(kept, scale);
    _mm512_storeu_ps(y + i, _mm512_mul_ps(_mm512_loadu_ps(x + i), factor));
  };
  int64_t i = 0;
  for (; i + 32 <= count; i += 32) {
    __m512i c0 = _mm512_add_epi64(_mm512_set1_epi64((first + i) / 4), lanes);
    __m512i c1 = _mm512_srli_epi64(c0, 32);
    __m512i c2 = _mm512_setzero_si512();
    __m512i c3 = _mm512_setzero_si512();
    for (size_t round = 0; round < kRounds; ++round) {
      const __m512i product0 = _mm512_mul_epu32(c0, multiplier0);
      const __m512i product1 = _mm512_mul_epu32(c2, multiplier1);
      const __m512i key0 = _mm512_set1_epi64(as_signed(keys.first[round]));
      const __m512i key1 = _mm512_set1_epi64(as_signed(keys.second[round]));
      // 0x96: exclusive or of all three
      c0 = _mm512_ternarylogic_epi64(_mm512_srli_epi64(product1, 32), c1, key0, 0x96);
      c1 = product1;
      c2 = _mm512_ternarylogic_epi64(_mm512_srli_epi64(product0, 32), c3, key1, 0x96);
      c3 = product0;
    }
    const __m512i words01 = _mm512_mask_blend_epi32(0xAAAA, c0, _mm512_slli_epi64(c1, 32));
    const __m512i words23 = _mm512_mask_blend_epi32(0xAAAA, c2, _mm512_slli_epi64(c3, 32));
    store(i, _mm512_permutex2var_epi64(words01, order0, words23));
    store(i + 16, _mm512_permutex2var_epi64(words01, order1, words23));
  }
  plain(x + i, y + i, first + i, count - i, mask);
}

[[gnu::target("avx2")]] void avx2(const float* x, float* y, int64_t first, int64_t count,
                                  const DropoutMask& mask) {
  const RoundKeys keys(mask.key);
  const __m256i multiplier0 = _mm256_set1_epi64x(as_signed(kMultiplier0));
  const __m256i multiplier1 = _mm256_set1_epi64x(as_signed(kMultiplier1));
  const __m256i lanes = _mm256_setr_epi64x(0, 1, 2, 3);
  const __m256i threshold = _mm256_set1_epi32(static_cast<int>(threshold_of(mask)));
  const __m256 scale = _mm256_set1_ps(scale_of(mask));
  const auto store = [&](int64_t i, __m256i draws) __attribute__((target("avx2"))) {
    // draws >= threshold, unsigned
    const __m256i kept = _mm256_cmpeq_epi32(_mm256_max_epu32(draws, threshold), draws);
    const __m256 factor = _mm256_and_ps(_mm256_castsi256_ps(kept), scale);
    _mm256_storeu_ps(y + i, _mm256_mul_ps(_mm256_loadu_ps(x + i), factor));
  };
  int64_t i = 0;
  for (; i + 16 <= count; i += 16) {
    __m256i c0 = _mm256_add_epi64(_mm256_set1_epi64x((first + i) / 4), lanes);
    __m256i c1 = _mm256_srli_epi64(c0, 32);
    __m256i c2 = _mm256_setzero_si256();
    __m256i c3 = _mm256_setzero_si256();
    for (size_t round = 0; round < kRounds; ++round) {
      const __m256i product0 = _mm256_mul_epu32(c0, multiplier0);
      const __m256i product1 = _mm256_mul_epu32(c2, multiplier1);
      const __m256i key0 = _mm256_set1_epi64x(as_signed(keys.first[round]));
      const __m256i key1 = _mm256_set1_epi64x(as_signed(keys.second[round]));
      c0 = _mm256_xor_si256(_mm256_xor_si256(_mm256_srli_epi64(product1, 32), c1), key0);
      c1 = product1;
      c2 = _mm256_xor_si256(_mm256_xor_si256(_mm256_srli_epi64(product0, 32), c3), key1);
      c3 = product0;
    }
    const __m256i words01 = _mm256_blend_epi32(c0, _mm256_slli_epi64(c1, 32), 0xAA);
    const __m256i words23 = _mm256_blend_epi32(c2, _mm256_slli_epi64(c3, 32), 0xAA);
    const __m256i even = _mm256_unpacklo_epi64(words01, words23);  // blocks 0 and 2
    const __m256i odd = _mm256_unpackhi_epi64(words01, words23);   // blocks 1 and 3
    store(i, _mm256_permute2x128_si256(even, odd, 0x20));
    store(i + 8, _mm256_permute2x128_si256(even, odd, 0x31));
  }
  plain(x + i, y + i, first + i, count - i, mask);
}

#endif

std::vector<NamedDropoutKernel> find_kernels() {
  std::vector<NamedDropoutKernel> kernels;
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx512f")) kernels.push_back({"avx512", avx512});
  if (__builtin_cpu_supports("avx2")) kernels.push_back({"avx2", avx2});
#endif
  kernels.push_back({"plain", plain});
  return kernels;
}

}  // namespace

const std::vector<NamedDropoutKernel>& dropout_kernels() {
  static const std::vector<NamedDropoutKernel> kKernels = find_kernels();
  return kKernels;
}

}  // namespace cantilever
