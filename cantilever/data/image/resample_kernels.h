#pragma once

#include <array>
#include <cstdint>

#include "cantilever/data/image/resample_axis.h"

namespace cantilever {

// Source rows are resampled eight at a time, so that the eight lanes of a vector are eight rows.
constexpr int kRowsPerBlock = 8;

// The two passes of a separable resampling of three-channel pictures. `tile` is a block of rows,
// float32 [columns, 3, 8 rows], column 0 being source column axis.source_first.
struct ResampleKernels {
  // rows[r]: byte row r from source column axis.source_first on; `samples` = 3 * columns.
  // tile[k][r] = levels[rows[r][k]].
  void (*fill_tile)(const std::array<const uint8_t*, kRowsPerBlock>& rows, int64_t samples,
                    const std::array<float, 256>& levels, float* tile);
  // rows[r]: float32 [3, axis.window.count], the horizontally resampled row r.
  void (*horizontal)(const ResampleAxis& axis, const float* tile,
                     const std::array<float*, kRowsPerBlock>& rows);
  // out[x] = sum over j of weights[j] * rows[j][x], for x < count.
  void (*vertical)(const float* const* rows, const float* weights, int length, int64_t count,
                   float* out);
};

// The best the running CPU has: AVX2 with FMA, which also rounds as torch does there, or portable.
const ResampleKernels& resample_kernels();
const ResampleKernels& portable_resample_kernels();

}  // namespace cantilever
