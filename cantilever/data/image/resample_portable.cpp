#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>

#include "cantilever/data/image/resample_kernels.h"

// Note [The rounding of torch's sums]
// Torch's loop over the taps, as compiled for CPUs with FMA, takes the first tap alone, then groups
// of four with product and sum rounded separately, then what is left (at most three) with one
// rounding each. The kernels repeat that, and the result is bit-equal to torch 2.11 with AVX2 or
// AVX-512. So that a run does not depend on the machine, the portable kernels do the same without
// FMA instructions.

namespace cantilever {
namespace {

constexpr int kChannels = 3;

// a * b + c with one rounding.
float fused(float a, float b, float c) {
#if defined(__FP_FAST_FMAF)
  return std::fma(a, b, c);
#else
  // The product is exact in double. The sum is rounded to odd there, so that rounding it to float32
  // is the only rounding that counts (Boldo and Melquiond, "Emulation of a FMA and correctly
  // rounded sums", 2008).
  const double product = static_cast<double>(a) * static_cast<double>(b);
  const double addend = c;
  const double sum = product + addend;
  const double back = sum - product;
  const double error = (product - (sum - back)) + (addend - back);
  auto bits = std::bit_cast<int64_t>(sum);
  if (error != 0 && (bits & 1) == 0) bits += ((error > 0) == (sum > 0)) ? 1 : -1;
  return static_cast<float>(std::bit_cast<double>(bits));
#endif
}

// Keeps the compiler from making one FMA of a product and a sum.
float rounded(float value) {
#if defined(__x86_64__)
  __asm__("" : "+x"(value));
#elif defined(__aarch64__)
  __asm__("" : "+w"(value));
#endif
  return value;
}

// sum over j of weights[j] * value(j).
template <class Value>
float weighted_sum(const Value& value, const float* weights, int length) {
  float sum = rounded(value(0) * weights[0]);
  const int grouped = 1 + (length - 1) / 4 * 4;
  for (int j = 1; j < grouped; ++j) sum += rounded(value(j) * weights[j]);
  for (int j = grouped; j < length; ++j) sum = fused(value(j), weights[j], sum);
  return sum;
}

void float_horizontal(const ResampleAxis& axis, const SourceRows& rows, bool divides, void* tile,
                      const std::array<float*, kRowsPerBlock>& out) {
  const int64_t samples = (axis.source_end - axis.source_first) * kChannels;
  const int64_t count = axis.window.count;
  auto* values = static_cast<float*>(tile);
  for (size_t r = 0; r < kRowsPerBlock; ++r) {
    for (int64_t k = 0; k < samples; ++k) {
      const float level = rows[r][k];
      values[k] = divides ? level / 255.0F : level;
    }
    for (int64_t x = 0; x < count; ++x) {
      const auto i = static_cast<size_t>(x);
      const float* source = values + (axis.start[i] - axis.source_first) * kChannels;
      for (int c = 0; c < kChannels; ++c) {
        const auto value = [source, c](int j) { return source[j * kChannels + c]; };
        out[r][c * plane_stride(count) + x] =
            weighted_sum(value, axis.weights.data() + x * axis.taps, axis.length[i]);
      }
    }
  }
}

void float_vertical(const float* const* rows, int64_t offset, const float* weights, int length,
                    int64_t count, const FloatFinish& finish, void* out) {
  constexpr int64_t kStep = 64;
  std::array<float, kStep> sums;
  const size_t size = finish.form == FloatForm::kLevels     ? 1
                      : finish.form == FloatForm::kBfloat16 ? 2
                                                            : 4;
  for (int64_t x = 0; x < count; x += kStep) {
    const int64_t step = std::min(kStep, count - x);
    for (int64_t k = 0; k < step; ++k) {
      const auto value = [&](int j) { return rows[j][offset + x + k]; };
      sums[static_cast<size_t>(k)] = weighted_sum(value, weights, length);
    }
    finish_floats(finish, sums.data(), step,
                  static_cast<std::byte*>(out) + static_cast<size_t>(x) * size);
  }
}

// Half of the last place is added, so the shift rounds; wraps around as vector additions do.
uint8_t whole_sum(uint32_t sum, int precision) {
  const auto level = static_cast<int32_t>(sum + (uint32_t{1} << (precision - 1))) >> precision;
  return static_cast<uint8_t>(std::clamp(level, 0, 255));
}

void level_horizontal(const ResampleAxis& axis, const SourceRows& rows, void* /*tile*/,
                      const std::array<uint8_t*, kRowsPerBlock>& out) {
  const int64_t count = axis.window.count;
  for (size_t r = 0; r < kRowsPerBlock; ++r) {
    for (int64_t x = 0; x < count; ++x) {
      const auto i = static_cast<size_t>(x);
      const uint8_t* source = rows[r] + (axis.start[i] - axis.source_first) * kChannels;
      const int32_t* weights = axis.whole.data() + x * axis.taps;
      for (int c = 0; c < kChannels; ++c) {
        uint32_t sum = 0;
        for (int j = 0; j < axis.length[i]; ++j) {
          sum += static_cast<uint32_t>(weights[j]) * source[j * kChannels + c];
        }
        out[r][c * plane_stride(count) + x] = whole_sum(sum, axis.precision);
      }
    }
  }
}

void level_vertical(const ResampleAxis& axis, int64_t y, const uint8_t* const* rows, int64_t count,
                    uint8_t* out) {
  const int32_t* weights = axis.whole.data() + y * axis.taps;
  const int length = axis.length[static_cast<size_t>(y)];
  for (int64_t x = 0; x < count; ++x) {
    uint32_t sum = 0;
    for (int j = 0; j < length; ++j) sum += static_cast<uint32_t>(weights[j]) * rows[j][x];
    out[x] = whole_sum(sum, axis.precision);
  }
}

constexpr ResampleKernels kPortable = {float_horizontal, float_vertical, level_horizontal,
                                       level_vertical};

}  // namespace

int64_t outputs_per_tile(const ResampleAxis& axis) {
  constexpr int64_t kColumns = 96;
  const int64_t fitting = kColumns * axis.window.out / std::max(axis.window.in, axis.window.out);
  return std::max<int64_t>(fitting / 8 * 8, 8);
}

int64_t tile_bytes(const ResampleAxis& axis) {
  const int64_t count = axis.window.count;
  const int64_t step = outputs_per_tile(axis);
  int64_t columns = 0;
  for (int64_t x = 0; x < count; x += step) {
    const auto last = static_cast<size_t>(std::min(x + step, count) - 1);
    columns = std::max(columns,
                       axis.start[last] + axis.length[last] - axis.start[static_cast<size_t>(x)]);
  }
  // Vectors may be written and read a little behind the last column. The portable kernel takes a
  // whole row.
  columns = std::max(columns + 16, (axis.source_end - axis.source_first) / kRowsPerBlock + 1);
  return columns * kChannels * kRowsPerBlock * static_cast<int64_t>(sizeof(float));
}

const ResampleKernels& portable_resample_kernels() {
  return kPortable;
}

const ResampleKernels& resample_kernels() {
  static const ResampleKernels* const avx2 = avx2_resample_kernels();
  return avx2 != nullptr ? *avx2 : kPortable;
}

}  // namespace cantilever
