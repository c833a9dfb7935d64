#include "cantilever/data/image/resample.h"

#include <algorithm>
#include <cstddef>

#include "cantilever/data/image/resample_kernels.h"

namespace cantilever {
namespace {

template <class T>
void grow(std::vector<T>& buffer, int64_t size) {
  if (buffer.size() < static_cast<size_t>(size)) buffer.resize(static_cast<size_t>(size));
}

}  // namespace

RowResampler::RowResampler(const ImageView& image, const std::array<float, 256>& levels,
                           const ResampleAxis& columns, const ResampleAxis& rows,
                           ResampleBuffers& buffers)
    : image_(image),
      levels_(levels),
      columns_(columns),
      rows_(rows),
      buffers_(buffers),
      kernels_(resample_kernels()),
      source_columns_(columns.source_end - columns.source_first),
      // The rows of one output, and the block that the last of them may open.
      ring_rows_(rows.longest + kRowsPerBlock),
      row_values_(3 * columns.window.count),
      next_source_row_(rows.source_first) {
  grow(buffers.tile, source_columns_ * 3 * kRowsPerBlock);
  grow(buffers.ring, ring_rows_ * row_values_);
  grow(buffers.row, row_values_);
  grow(buffers.taps, rows.longest);
}

const float* RowResampler::row(int64_t y) {
  const int64_t first = rows_.start[static_cast<size_t>(y)];
  const int length = rows_.length[static_cast<size_t>(y)];
  while (next_source_row_ < first + length) resample_block();
  if (rows_.is_copy) return ring_row(first);
  for (int j = 0; j < length; ++j) buffers_.taps[static_cast<size_t>(j)] = ring_row(first + j);
  kernels_.vertical(buffers_.taps.data(), rows_.weights.data() + y * rows_.taps, length,
                    row_values_, buffers_.row.data());
  return buffers_.row.data();
}

float* RowResampler::ring_row(int64_t source_row) {
  return buffers_.ring.data() + source_row % ring_rows_ * row_values_;
}

// The next eight source rows; at the lower edge of the picture the last one fills up the block.
void RowResampler::resample_block() {
  std::array<const uint8_t*, kRowsPerBlock> source;
  std::array<float*, kRowsPerBlock> target;
  for (size_t r = 0; r < kRowsPerBlock; ++r) {
    const int64_t row = next_source_row_ + static_cast<int64_t>(r);
    const int64_t held = std::min<int64_t>(row, image_.height - 1);
    source[r] = image_.pixels + (held * image_.width + columns_.source_first) * 3;
    target[r] = ring_row(row);
  }
  kernels_.fill_tile(source, source_columns_ * 3, levels_, buffers_.tile.data());
  kernels_.horizontal(columns_, buffers_.tile.data(), target);
  next_source_row_ += kRowsPerBlock;
}

}  // namespace cantilever
