#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "cantilever/data/image/jpeg.h"
#include "cantilever/data/image/jpeg_fast.h"
#include "cantilever/data/image/jpeg_library.h"

namespace cantilever {

// JPEG rows for ImageDecoder and decode_jpeg: the fast path as long as it goes, then libjpeg.
class JpegReader {
 public:
  explicit JpegReader(const JpegKernels& kernels = jpeg_kernels()) : fast_(kernels) {}

  // As ImageDecoder. The orientation is not applied.
  const JpegHeader& open(std::span<const std::byte> encoded, const DecodeOptions& options);
  void set_window(const ImageWindow& window);
  RowBlock next_rows();
  void finish();
  int fast_rows() const { return fast_rows_; }

 private:
  void open_library();
  RowBlock next_library_rows();

  std::span<const std::byte> encoded_;
  JpegHeader header_;
  JpegFast fast_;
  JpegLibrary library_;
  bool is_fast_ = false;
  bool is_library_open_ = false;
  ImageWindow window_;
  int next_row_ = 0;
  int fast_rows_ = 0;
  std::vector<uint8_t> rows_;  // of libjpeg
};

}  // namespace cantilever
