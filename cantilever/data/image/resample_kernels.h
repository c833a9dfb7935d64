#pragma once

#include <array>
#include <cstdint>

#include "cantilever/data/image/pixel_finish.h"
#include "cantilever/data/image/resample_axis.h"

namespace cantilever {

// Source rows are resampled eight at a time, so that the eight lanes of a vector are eight rows.
constexpr int kRowsPerBlock = 8;
using SourceRows = std::array<const uint8_t*, kRowsPerBlock>;

// Distance between the channels of a resampled row of `count` columns: whole vectors.
constexpr int64_t plane_stride(int64_t count) {
  return (count + 31) / 32 * 32;
}

// The horizontal kernels convert the source columns of some outputs into a tile that stays in the
// first-level cache; a multiple of 8 outputs.
int64_t outputs_per_tile(const ResampleAxis& axis);
// Bytes of the tile.
int64_t tile_bytes(const ResampleAxis& axis);

// The two passes of a separable resampling of three-channel pictures, by instruction set. All give
// the same bits.
struct ResampleKernels {
  // rows[r]: byte row r from source column axis.source_first on, of source_end - source_first
  // columns. out[r]: float32 [3, plane_stride], the row resampled. `divides`: bytes are taken as
  // byte / 255, else as they are. `tile`: tile_bytes(axis), aligned to 32.
  void (*float_horizontal)(const ResampleAxis& axis, const SourceRows& rows, bool divides,
                           void* tile, const std::array<float*, kRowsPerBlock>& out);
  // finish(sum over j of weights[j] * rows[j][offset + x]) for x < count. May read up to the next
  // multiple of 32 values.
  void (*float_vertical)(const float* const* rows, int64_t offset, const float* weights, int length,
                         int64_t count, const FloatFinish& finish, void* out);
  // The same for bytes and whole weights: every sum is rounded, shifted and cut to 0..255. out[r]:
  // uint8 [3, plane_stride].
  void (*level_horizontal)(const ResampleAxis& axis, const SourceRows& rows, void* tile,
                           const std::array<uint8_t*, kRowsPerBlock>& out);
  // Output `y` of the axis: rows[j] is source row axis.start[y] + j. May read and write up to the
  // next multiple of 32 bytes.
  void (*level_vertical)(const ResampleAxis& axis, int64_t y, const uint8_t* const* rows,
                         int64_t count, uint8_t* out);
};

// The best the running CPU has: AVX2 with FMA, or portable.
const ResampleKernels& resample_kernels();
const ResampleKernels& portable_resample_kernels();
// null where the CPU or the build has none.
const ResampleKernels* avx2_resample_kernels();

}  // namespace cantilever
