#include "cantilever/data/image/jpeg_reader.h"

#include <algorithm>

#include "cantilever/base/error.h"
#include "cantilever/data/image/limits.h"

namespace cantilever {
namespace {

constexpr int kRowsAtOnce = 16;

}  // namespace

const JpegHeader& JpegReader::open(std::span<const std::byte> encoded,
                                   const DecodeOptions& options) {
  encoded_ = encoded;
  is_fast_ = false;
  library_.close();  // of a picture that was given up
  is_library_open_ = false;
  fast_rows_ = 0;
  header_ = read_jpeg_header(encoded);
  check_picture_size("JPEG", header_.width, header_.height, options);
  is_fast_ = fast_.open(encoded) && fast_.frame().width == header_.width &&
             fast_.frame().height == header_.height &&
             fast_.frame().components == header_.components;
  set_window({0, 0, header_.width, header_.height});
  return header_;
}

void JpegReader::set_window(const ImageWindow& window) {
  CANTILEVER_ASSERT(window.left >= 0 && window.left < window.right &&
                        window.right <= header_.width && window.top >= 0 &&
                        window.top < window.bottom && window.bottom <= header_.height,
                    "a window outside of the picture");
  window_ = window;
  next_row_ = window.top;
  if (is_fast_) fast_.set_window(window);
}

RowBlock JpegReader::next_rows() {
  CANTILEVER_ASSERT(next_row_ < window_.bottom, "no rows are left");
  if (is_fast_) {
    if (const auto block = fast_.next_rows()) {
      next_row_ += block->count;
      fast_rows_ += block->count;
      return *block;
    }
    is_fast_ = false;
  }
  return next_library_rows();
}

void JpegReader::open_library() {
  if (is_library_open_) return;
  library_.open(encoded_, header_);
  is_library_open_ = true;
  const size_t bytes = static_cast<size_t>(header_.width) * 3 * kRowsAtOnce;
  if (rows_.size() < bytes) rows_.resize(bytes);
}

RowBlock JpegReader::next_library_rows() {
  open_library();
  while (library_.row() < next_row_) library_.read_row(rows_.data());
  const ptrdiff_t stride = ptrdiff_t{3} * header_.width;
  const int first = next_row_;
  const int count = std::min(kRowsAtOnce, window_.bottom - first);
  for (int i = 0; i < count; ++i) library_.read_row(rows_.data() + i * stride);
  next_row_ += count;
  return {rows_.data(), stride, first, count};
}

void JpegReader::finish() {
  if (is_fast_ && fast_.finish()) return;
  is_fast_ = false;
  open_library();
  while (library_.row() < header_.height) library_.read_row(rows_.data());
  library_.finish();
}

}  // namespace cantilever
