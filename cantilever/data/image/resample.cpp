#include "cantilever/data/image/resample.h"

#include <algorithm>
#include <cstring>

#include "cantilever/base/error.h"

namespace cantilever {
namespace {

constexpr int kChannels = 3;
constexpr int64_t kSlack = 64;  // bytes that kernels may touch behind a row

}  // namespace

void AlignedBuffer::reserve(int64_t bytes) {
  if (bytes <= size_) return;
  release();
  data_ = ::operator new(static_cast<size_t>(bytes), kAlignment);
  std::memset(data_, 0, static_cast<size_t>(bytes));
  size_ = bytes;
}

void AlignedBuffer::limit(int64_t bytes) {
  if (size_ > bytes) release();
}

void AlignedBuffer::release() {
  if (data_ != nullptr) ::operator delete(data_, kAlignment);
  data_ = nullptr;
  size_ = 0;
}

PictureResampler::PictureResampler(const ResampledSides& sides, int left, int top,
                                   const PictureSink& sink, ResampleBuffers& buffers,
                                   const ResampleKernels& kernels)
    : columns_(*sides.columns),
      rows_(*sides.rows),
      columns_before_(sides.columns_before),
      rows_before_(sides.rows_before),
      vertical_first_(sides.vertical_first),
      levels_(resamples_levels(sides.columns->window.filter)),
      left_(left),
      top_(top),
      sink_(sink),
      buffers_(buffers),
      kernels_(kernels),
      plane_(plane_stride(columns_.window.count)),
      samples_((columns_.source_end - columns_.source_first) * kChannels),
      slot_(vertical_first_ ? (samples_ + kSlack) / kSlack * kSlack + kSlack : kChannels * plane_),
      // The rows of one output, and the block that the last of them may open.
      ring_rows_(rows_.longest + kRowsPerBlock),
      next_row_(rows_.source_first) {
  CANTILEVER_ASSERT(levels_ || (!vertical_first_ && columns_before_ == 0 && rows_before_ == 0 &&
                                columns_.window.count == sink.width));
  reserve();
  store_empty_rows(0, rows_before_);
}

void PictureResampler::reserve() {
  const int64_t value = levels_ ? 1 : static_cast<int64_t>(sizeof(float));
  buffers_.tile.reserve(tile_bytes(columns_));
  buffers_.ring.reserve(ring_rows_ * slot_ * value + kSlack);
  buffers_.taps.reserve(rows_.longest * static_cast<int64_t>(sizeof(void*)));
  buffers_.stash.reserve(samples_ * kRowsPerBlock);
  buffers_.middle.reserve(vertical_first_ ? slot_ * kRowsPerBlock : 0);
  buffers_.levels.reserve(kChannels * plane_ * kRowsPerBlock);
}

ImageWindow PictureResampler::window() const {
  return {left_ + static_cast<int>(columns_.source_first),
          top_ + static_cast<int>(rows_.source_first),
          left_ + static_cast<int>(columns_.source_end), top_ + static_cast<int>(rows_.source_end)};
}

void PictureResampler::push(const RowBlock& block) {
  const int64_t first = block.first - top_;
  const uint8_t* pixels = block.pixels + (left_ + columns_.source_first) * kChannels;
  const int64_t end = std::min<int64_t>(first + block.count, rows_.source_end);
  // Rows above next_row_ and the stash are not needed.
  int64_t row = std::max(first, next_row_ + pending_);
  while (row < end && y_ < rows_.window.count) {
    const uint8_t* source = pixels + (row - first) * block.stride;
    if (vertical_first_) {
      push_vertical_first(source);
      row = std::max(row + 1, next_row_);
    } else if (pending_ == 0 && end - row >= kRowsPerBlock) {
      SourceRows rows;
      for (size_t r = 0; r < kRowsPerBlock; ++r) {
        rows[r] = source + static_cast<ptrdiff_t>(r) * block.stride;
      }
      resample_block(rows, kRowsPerBlock);
      row = std::max(row + kRowsPerBlock, next_row_);
    } else {
      auto* stash = buffers_.stash.as<uint8_t>();
      std::memcpy(stash + pending_ * samples_, source, static_cast<size_t>(samples_));
      ++pending_;
      ++row;
      if (pending_ == kRowsPerBlock || row == rows_.source_end) {
        // At the lower edge of the picture the last row fills up the block.
        SourceRows rows;
        for (size_t r = 0; r < kRowsPerBlock; ++r) {
          rows[r] = stash + std::min(static_cast<int64_t>(r), pending_ - 1) * samples_;
        }
        const int64_t count = pending_;
        pending_ = 0;
        resample_block(rows, count);
        row = std::max(row, next_row_);
      }
    }
  }
}

void PictureResampler::finish() {
  CANTILEVER_ASSERT(y_ == rows_.window.count, "rows of the picture are missing: ", y_, " of ",
                    rows_.window.count, " were made");
  store_empty_rows(rows_before_ + y_, sink_.height);
}

void PictureResampler::resample_block(const SourceRows& rows, int64_t count) {
  if (levels_) {
    std::array<uint8_t*, kRowsPerBlock> target;
    for (size_t r = 0; r < kRowsPerBlock; ++r) {
      const int64_t slot = (next_row_ + static_cast<int64_t>(r)) % ring_rows_;
      target[r] = buffers_.ring.as<uint8_t>() + slot * slot_;
    }
    kernels_.level_horizontal(columns_, rows, buffers_.tile.as<void>(), target);
  } else {
    std::array<float*, kRowsPerBlock> target;
    for (size_t r = 0; r < kRowsPerBlock; ++r) {
      const int64_t slot = (next_row_ + static_cast<int64_t>(r)) % ring_rows_;
      target[r] = buffers_.ring.as<float>() + slot * slot_;
    }
    kernels_.float_horizontal(columns_, rows, sink_.divides, buffers_.tile.as<void>(), target);
  }
  next_row_ += count;
  emit_rows();
}

void PictureResampler::push_vertical_first(const uint8_t* row) {
  auto* ring = buffers_.ring.as<uint8_t>();
  std::memcpy(ring + next_row_ % ring_rows_ * slot_, row, static_cast<size_t>(samples_));
  ++next_row_;
  emit_rows();
}

void PictureResampler::emit_rows() {
  while (y_ < rows_.window.count) {
    const auto y = static_cast<size_t>(y_);
    const int64_t first = rows_.start[y];
    const int length = rows_.length[y];
    if (first + length > next_row_) {
      next_row_ = std::max(next_row_, first);
      return;
    }
    if (levels_) {
      auto** taps = buffers_.taps.as<const uint8_t*>();
      for (int j = 0; j < length; ++j) {
        taps[j] = buffers_.ring.as<uint8_t>() + (first + j) % ring_rows_ * slot_;
      }
      vertical_first_ ? emit_middle_row() : emit_level_row();
    } else {
      auto** taps = buffers_.taps.as<const float*>();
      for (int j = 0; j < length; ++j) {
        taps[j] = buffers_.ring.as<float>() + (first + j) % ring_rows_ * slot_;
      }
      emit_float_row();
    }
  }
}

void PictureResampler::emit_float_row() {
  const auto y = static_cast<size_t>(y_);
  const float* weights = rows_.weights.data() + y_ * rows_.taps;
  const int64_t count = columns_.window.count;
  const bool through_levels =
      sink_.finish[0].form == FloatForm::kLevels && sink_.type != PixelType::kUint8;
  for (size_t c = 0; c < kChannels; ++c) {
    void* out = through_levels ? buffers_.levels.as<void>() : place(c, y_);
    kernels_.float_vertical(buffers_.taps.as<const float*>(), static_cast<int64_t>(c) * plane_,
                            weights, rows_.length[y], count, sink_.finish[c], out);
    if (through_levels) store_channel(buffers_.levels.as<uint8_t>(), c, y_);
  }
  ++y_;
}

void PictureResampler::emit_level_row() {
  auto* levels = buffers_.levels.as<uint8_t>();
  kernels_.level_vertical(rows_, y_, buffers_.taps.as<const uint8_t*>(), kChannels * plane_,
                          levels);
  store_levels(levels, rows_before_ + y_);
  ++y_;
}

void PictureResampler::emit_middle_row() {
  auto* middle = buffers_.middle.as<uint8_t>();
  kernels_.level_vertical(rows_, y_, buffers_.taps.as<const uint8_t*>(), samples_,
                          middle + middle_ * slot_);
  ++middle_;
  ++y_;
  if (middle_ == kRowsPerBlock || y_ == rows_.window.count) flush_middle();
}

void PictureResampler::flush_middle() {
  SourceRows rows;
  std::array<uint8_t*, kRowsPerBlock> target;
  for (size_t r = 0; r < kRowsPerBlock; ++r) {
    const auto row = static_cast<int64_t>(r);
    rows[r] = buffers_.middle.as<uint8_t>() + std::min(row, middle_ - 1) * slot_;
    target[r] = buffers_.levels.as<uint8_t>() + row * kChannels * plane_;
  }
  kernels_.level_horizontal(columns_, rows, buffers_.tile.as<void>(), target);
  for (int64_t r = 0; r < middle_; ++r) {
    store_levels(target[static_cast<size_t>(r)], rows_before_ + y_ - middle_ + r);
  }
  middle_ = 0;
}

void PictureResampler::store_levels(const uint8_t* levels, int64_t y) {
  for (size_t c = 0; c < kChannels; ++c) {
    store_channel(levels + static_cast<int64_t>(c) * plane_, c, y);
  }
}

namespace {

template <class T>
void store_row(T* out, const LevelTable& table, T zero, const uint8_t* levels, int64_t before,
               int64_t count, int64_t side) {
  std::fill_n(out, before, zero);
  expand_levels(table, levels, count, out + before);
  std::fill_n(out + before + count, side - before - count, zero);
}

}  // namespace

// `levels`: null for a row of level 0.
void PictureResampler::store_channel(const uint8_t* levels, size_t channel, int64_t y) {
  const int64_t count = levels == nullptr ? 0 : columns_.window.count;
  std::byte* out = place(channel, y);
  switch (sink_.type) {
    case PixelType::kFloat32: {
      const LevelTable& table = (*sink_.tables)[channel];
      store_row(reinterpret_cast<float*>(out), table, table.values[0], levels, columns_before_,
                count, sink_.width);
      return;
    }
    case PixelType::kBfloat16: {
      const LevelTable& table = (*sink_.tables)[channel];
      store_row(reinterpret_cast<uint16_t*>(out), table, table.halves[0], levels, columns_before_,
                count, sink_.width);
      return;
    }
    case PixelType::kUint8:
      std::memset(out, 0, static_cast<size_t>(sink_.width));
      if (count > 0) std::memcpy(out + columns_before_, levels, static_cast<size_t>(count));
      return;
  }
}

void PictureResampler::store_empty_rows(int64_t from, int64_t to) {
  for (int64_t y = from; y < to; ++y) {
    for (size_t c = 0; c < kChannels; ++c) store_channel(nullptr, c, y);
  }
}

std::byte* PictureResampler::place(size_t channel, int64_t y) const {
  const int64_t index = (static_cast<int64_t>(channel) * sink_.height + y) * sink_.width;
  return static_cast<std::byte*>(sink_.data) +
         index * static_cast<int64_t>(pixel_bytes(sink_.type));
}

std::vector<uint8_t> resize_levels(const ImageView& image, int width, int height) {
  std::vector<uint8_t> out(static_cast<size_t>(width) * static_cast<size_t>(height) * kChannels);
  ResampleAxis columns;
  ResampleAxis rows;
  compute_resample_axis({image.width, width, 0, width}, columns);
  compute_resample_axis({image.height, height, 0, height}, rows);
  PictureSink sink = {PixelType::kUint8, out.data(), width, height, false, {}, nullptr};
  sink.finish.fill({FloatForm::kLevels, 0, 1, 1});
  ResampleBuffers buffers;
  PictureResampler resampler({&columns, &rows}, 0, 0, sink, buffers);
  resampler.push({image.pixels, ptrdiff_t{kChannels} * image.width, 0, image.height});
  resampler.finish();
  return out;
}

}  // namespace cantilever
