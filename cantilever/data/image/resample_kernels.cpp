#include "cantilever/data/image/resample_kernels.h"

#include <algorithm>
#include <cstddef>
#include <cstring>

// One body for every instruction set: written with GCC's vector extension, inlined into functions
// that carry the target attribute.
//
// Note [The rounding of torch's sums]
// Torch's loop over the taps, as compiled for CPUs with FMA, takes the first tap alone, then groups
// of four with product and sum rounded separately, then what is left (at most three) with one
// rounding each. weighted_sums repeats that, and the result is bit-equal to torch 2.11 with AVX2 or
// AVX-512. Without FMA every product is rounded, there and here.

namespace cantilever {
namespace {

using Vector = float __attribute__((vector_size(32)));  // the eight rows of a block
// The same in memory, at any address.
using Unaligned = float __attribute__((vector_size(32), aligned(4), may_alias));
constexpr int kColumns = 8;  // outputs between two transpositions
constexpr int kChannels = 3;

#define CANTILEVER_INLINE inline __attribute__((always_inline))
#define CANTILEVER_INLINE_LAMBDA __attribute__((always_inline))

CANTILEVER_INLINE void fill_tile_body(const std::array<const uint8_t*, kRowsPerBlock>& rows,
                                      int64_t samples, const std::array<float, 256>& levels,
                                      float* tile) {
  for (int64_t k = 0; k < samples; ++k) {
    for (size_t r = 0; r < kRowsPerBlock; ++r) {
      tile[k * kRowsPerBlock + static_cast<int64_t>(r)] = levels[rows[r][k]];
    }
  }
}

// sum += tap * weight, rounded twice. The empty statement keeps the compiler from contracting the
// two operations to an FMA, which it does by default wherever the target has one.
template <bool kHasFma>
CANTILEVER_INLINE void add_product(const Vector& tap, float weight, Vector& sum) {
  Vector product = tap * weight;
#if defined(__x86_64__)
  if constexpr (kHasFma) __asm__("" : "+x"(product));
#endif
  sum += product;
}

// sums[i] = sum over j of weights[j] * vector i of tap j. load(j, i, tap) fetches that vector.
template <bool kHasFma, int kWidth, class Load>
CANTILEVER_INLINE void weighted_sums(const Load& load, const float* weights, int length,
                                     Vector* sums) {
  constexpr int kGroup = 4;
  Vector totals[kWidth];
  Vector tap;
#pragma GCC unroll 4
  for (int i = 0; i < kWidth; ++i) {
    load(0, i, tap);
    totals[i] = tap * weights[0];
  }
  const int grouped = 1 + (length - 1) / kGroup * kGroup;
  int j = 1;
  for (; j < grouped; ++j) {
#pragma GCC unroll 4
    for (int i = 0; i < kWidth; ++i) {
      load(j, i, tap);
      add_product<kHasFma>(tap, weights[j], totals[i]);
    }
  }
  for (; j < length; ++j) {
#pragma GCC unroll 4
    for (int i = 0; i < kWidth; ++i) {
      load(j, i, tap);
      totals[i] += tap * weights[j];
    }
  }
#pragma GCC unroll 4
  for (int i = 0; i < kWidth; ++i) sums[i] = totals[i];
}

template <bool kHasFma>
CANTILEVER_INLINE void horizontal_body(const ResampleAxis& axis, const float* tile,
                                       const std::array<float*, kRowsPerBlock>& rows) {
  Vector block[kColumns * kChannels];
  const int64_t count = axis.window.count;
  for (int64_t x = 0; x < count; x += kColumns) {
    const int64_t columns = std::min<int64_t>(count - x, kColumns);
    for (int64_t i = 0; i < columns; ++i) {
      const auto output = static_cast<size_t>(x + i);
      const float* source =
          tile + (axis.start[output] - axis.source_first) * kChannels * kRowsPerBlock;
      const auto load = [source](int j, int c, Vector& tap) CANTILEVER_INLINE_LAMBDA {
        constexpr ptrdiff_t kColumn = kChannels * kRowsPerBlock;
        tap = *reinterpret_cast<const Unaligned*>(source + j * kColumn + c * kRowsPerBlock);
      };
      weighted_sums<kHasFma, kChannels>(load, axis.weights.data() + (x + i) * axis.taps,
                                        axis.length[output], block + i * kChannels);
    }
    const float* from = reinterpret_cast<const float*>(block);
    for (int c = 0; c < kChannels; ++c) {
      for (int r = 0; r < kRowsPerBlock; ++r) {
        float* to = rows[static_cast<size_t>(r)] + c * count + x;
        const float* lane = from + c * kRowsPerBlock + r;
        for (int64_t i = 0; i < columns; ++i) to[i] = lane[i * kChannels * kRowsPerBlock];
      }
    }
  }
}

template <bool kHasFma>
CANTILEVER_INLINE void vertical_body(const float* const* rows, const float* weights, int length,
                                     int64_t count, float* out) {
  constexpr int kWidth = 4;
  constexpr int64_t kStep = kWidth * kRowsPerBlock;
  int64_t x = 0;
  for (; x + kStep <= count; x += kStep) {
    Vector sums[kWidth];
    const auto load = [rows, x](int j, int i, Vector& tap) CANTILEVER_INLINE_LAMBDA {
      tap = *reinterpret_cast<const Unaligned*>(rows[j] + x + i * kRowsPerBlock);
    };
    weighted_sums<kHasFma, kWidth>(load, weights, length, sums);
    std::memcpy(out + x, sums, sizeof(sums));
  }
  for (; x < count; x += kRowsPerBlock) {
    // What is left at the right edge; the lanes behind it are zero and not stored.
    const auto bytes =
        static_cast<size_t>(std::min<int64_t>(count - x, kRowsPerBlock)) * sizeof(float);
    Vector sum;
    const auto load = [rows, x, bytes](int j, int, Vector& tap) CANTILEVER_INLINE_LAMBDA {
      tap = Vector{};
      std::memcpy(&tap, rows[j] + x, bytes);
    };
    weighted_sums<kHasFma, 1>(load, weights, length, &sum);
    std::memcpy(out + x, &sum, bytes);
  }
}

void fill_tile_portable(const std::array<const uint8_t*, kRowsPerBlock>& rows, int64_t samples,
                        const std::array<float, 256>& levels, float* tile) {
  fill_tile_body(rows, samples, levels, tile);
}
void horizontal_portable(const ResampleAxis& axis, const float* tile,
                         const std::array<float*, kRowsPerBlock>& rows) {
  horizontal_body<false>(axis, tile, rows);
}
void vertical_portable(const float* const* rows, const float* weights, int length, int64_t count,
                       float* out) {
  vertical_body<false>(rows, weights, length, count, out);
}

constexpr ResampleKernels kPortable = {fill_tile_portable, horizontal_portable, vertical_portable};

#if defined(__x86_64__)
#define CANTILEVER_AVX2 __attribute__((target("avx2,fma")))

CANTILEVER_AVX2 void horizontal_avx2(const ResampleAxis& axis, const float* tile,
                                     const std::array<float*, kRowsPerBlock>& rows) {
  horizontal_body<true>(axis, tile, rows);
}
CANTILEVER_AVX2 void vertical_avx2(const float* const* rows, const float* weights, int length,
                                   int64_t count, float* out) {
  vertical_body<true>(rows, weights, length, count, out);
}

constexpr ResampleKernels kAvx2 = {fill_tile_portable, horizontal_avx2, vertical_avx2};
#endif

}  // namespace

const ResampleKernels& portable_resample_kernels() {
  return kPortable;
}

const ResampleKernels& resample_kernels() {
#if defined(__x86_64__)
  static const bool has_avx2 =
      __builtin_cpu_supports("avx2") != 0 && __builtin_cpu_supports("fma") != 0;
  if (has_avx2) return kAvx2;
#endif
  return kPortable;
}

}  // namespace cantilever
