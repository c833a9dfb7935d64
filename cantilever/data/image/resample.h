#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "cantilever/data/image/decode.h"
#include "cantilever/data/image/resample_axis.h"

namespace cantilever {

struct ResampleKernels;

// Memory of RowResampler, kept between pictures; it only grows.
struct ResampleBuffers {
  std::vector<float> tile;         // a block of source rows
  std::vector<float> ring;         // horizontally resampled rows [ring rows, 3, columns]
  std::vector<const float*> taps;  // the rows of one output row
  std::vector<float> row;          // one output row [3, columns]
};

// Two-pass resampling of a picture, one output row after the other: horizontal first, as torch
// does. Source rows are resampled horizontally in blocks when an output row first needs them, and
// kept in a ring just long enough for the vertical pass: memory does not grow with the height.
class RowResampler {
 public:
  // All arguments must outlive the object. `levels`: the value of each source byte.
  RowResampler(const ImageView& image, const std::array<float, 256>& levels,
               const ResampleAxis& columns, const ResampleAxis& rows, ResampleBuffers& buffers);

  // float32 [3, columns.window.count], not rounded or clamped, valid until the next call. Called
  // for y = 0, 1, ... rows.window.count - 1.
  const float* row(int64_t y);

 private:
  float* ring_row(int64_t source_row);
  void resample_block();

  const ImageView& image_;
  const std::array<float, 256>& levels_;
  const ResampleAxis& columns_;
  const ResampleAxis& rows_;
  ResampleBuffers& buffers_;
  const ResampleKernels& kernels_;
  int64_t source_columns_ = 0;
  int64_t ring_rows_ = 0;
  int64_t row_values_ = 0;
  int64_t next_source_row_ = 0;
};

}  // namespace cantilever
