#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <new>
#include <vector>

#include "cantilever/data/image/decode.h"
#include "cantilever/data/image/pixel_finish.h"
#include "cantilever/data/image/resample_axis.h"
#include "cantilever/data/image/resample_kernels.h"
#include "cantilever/data/image/transform.h"

namespace cantilever {

// Memory that only grows, aligned for vectors, zero when it is new. What was in it is lost when it
// grows.
class AlignedBuffer {
 public:
  AlignedBuffer() = default;
  AlignedBuffer(const AlignedBuffer&) = delete;
  AlignedBuffer& operator=(const AlignedBuffer&) = delete;
  ~AlignedBuffer() { release(); }

  void reserve(int64_t bytes);
  // Gives the memory back when it is more than `bytes`.
  void limit(int64_t bytes);
  template <class T>
  T* as() {
    return static_cast<T*>(data_);
  }

 private:
  static constexpr std::align_val_t kAlignment{64};
  void release();

  void* data_ = nullptr;
  int64_t size_ = 0;
};

// Memory of PictureResampler, kept between pictures.
struct ResampleBuffers {
  AlignedBuffer tile;    // a group of source columns, converted
  AlignedBuffer ring;    // rows between the two passes
  AlignedBuffer taps;    // the rows of one output row
  AlignedBuffer stash;   // source rows that do not fill a block yet
  AlignedBuffer middle;  // vertical first: rows between the passes; else one row of levels
  AlignedBuffer levels;  // finished rows of levels
};

// What a resampled picture becomes, and where: [3, height, width] of `type`.
struct PictureSink {
  PixelType type = PixelType::kFloat32;
  void* data = nullptr;
  int64_t width = 0;
  int64_t height = 0;
  bool divides = true;  // float32 filters: bytes are taken as byte / 255, else as they are
  // float32 values are finished so; with FloatForm::kLevels and a type other than kUint8 the levels
  // go through the tables, as those of filters for bytes do.
  std::array<FloatFinish, 3> finish;
  const std::array<LevelTable, 3>* tables = nullptr;
};

// The resized sides; `before` columns and rows of level 0 come before the first, others behind the
// last up to the sink's size (filters for bytes only).
struct ResampledSides {
  const ResampleAxis* columns = nullptr;
  const ResampleAxis* rows = nullptr;
  int64_t columns_before = 0;
  int64_t rows_before = 0;
  bool vertical_first = false;  // filters for bytes only
};

// Two-pass resampling of a picture that comes in blocks of rows. Source rows are resampled
// horizontally eight at a time and kept in a ring just long enough for the vertical pass, which
// also finishes and stores: memory does not grow with the height.
class PictureResampler {
 public:
  // All arguments must outlive the object. `left` and `top`: where the resampled part begins in
  // the rows that are pushed.
  PictureResampler(const ResampledSides& sides, int left, int top, const PictureSink& sink,
                   ResampleBuffers& buffers, const ResampleKernels& kernels = resample_kernels());

  // The pixels that are looked at.
  ImageWindow window() const;
  // Blocks from top to bottom, together at least the rows of the window.
  void push(const RowBlock& block);
  // After the last row.
  void finish();

 private:
  void reserve();
  void push_vertical_first(const uint8_t* row);
  void resample_block(const SourceRows& rows, int64_t count);
  void emit_rows();
  void emit_float_row();
  void emit_level_row();
  void emit_middle_row();
  void flush_middle();
  // A row of levels [3, plane_stride] to the sink.
  void store_levels(const uint8_t* levels, int64_t y);
  void store_channel(const uint8_t* levels, size_t channel, int64_t y);
  void store_empty_rows(int64_t from, int64_t to);
  std::byte* place(size_t channel, int64_t y) const;

  const ResampleAxis& columns_;
  const ResampleAxis& rows_;
  const int64_t columns_before_;
  const int64_t rows_before_;
  const bool vertical_first_;
  const bool levels_;  // the filter is one for bytes
  const int left_;
  const int top_;
  const PictureSink& sink_;
  ResampleBuffers& buffers_;
  const ResampleKernels& kernels_;
  int64_t plane_ = 0;    // distance between the channels of a resampled row
  int64_t samples_ = 0;  // bytes of a source row between the columns used
  int64_t slot_ = 0;     // distance between two rows of the ring, in values
  int64_t ring_rows_ = 0;
  int64_t next_row_ = 0;  // source row that is needed next
  int64_t pending_ = 0;   // rows in the stash
  int64_t middle_ = 0;    // vertical first: rows that wait for the horizontal pass
  int64_t y_ = 0;         // output row that is made next
};

// A picture resized by torch's antialiased bicubic, rounded and cut to bytes: uint8 [3, height,
// width].
std::vector<uint8_t> resize_levels(const ImageView& image, int width, int height);

}  // namespace cantilever
