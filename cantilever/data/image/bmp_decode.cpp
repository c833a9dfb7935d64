#include <algorithm>
#include <cstring>
#include <string_view>

#include "cantilever/base/error.h"
#include "cantilever/data/image/bmp.h"
#include "cantilever/data/image/bmp_header.h"
#include "cantilever/data/image/limits.h"

namespace cantilever {
namespace {

// Run lengths to indices, one byte each, as Pillow unpacks them: rows are not kept apart, so a row
// that is too short moves all that follow.
class RleReader {
 public:
  RleReader(std::span<const std::byte> file, size_t at, const BmpHeader& header)
      : file_(file),
        at_(at),
        width_(static_cast<size_t>(header.width)),
        size_(width_ * static_cast<size_t>(header.height)),
        is_rle4_(header.is_rle4) {}

  std::vector<uint8_t> read() {
    while (indices_.size() < size_ && step()) {
    }
    CANTILEVER_CHECK(indices_.size() >= size_, "BMP: truncated; its run lengths end in row ",
                     indices_.size() / width_, " of ", size_ / width_);
    return std::move(indices_);
  }

 private:
  bool step() {
    if (file_.size() - at_ < 2) return false;
    const size_t count = byte(at_);
    const unsigned value = byte(at_ + 1);
    at_ += 2;
    if (count > 0) {
      run(count, value);
      return true;
    }
    switch (value) {
      case 0:
        end_row();
        return true;
      case 1:
        return false;
      case 2:
        return move();
      default:
        return literal(value);
    }
  }

  unsigned byte(size_t at) const { return static_cast<unsigned>(file_[at]); }

  void run(size_t count, unsigned value) {
    if (x_ + count > width_) count = width_ > x_ ? width_ - x_ : 0;
    for (size_t i = 0; i < count; ++i) {
      const unsigned index = is_rle4_ ? (i % 2 == 0 ? value >> 4U : value & 15U) : value;
      indices_.push_back(static_cast<uint8_t>(index));
    }
    x_ += count;
  }

  void end_row() {
    const size_t over = indices_.size() % width_;
    if (over != 0) indices_.resize(indices_.size() + width_ - over);
    x_ = 0;
  }

  bool move() {
    if (file_.size() - at_ < 2) return false;
    const size_t skipped = byte(at_) + byte(at_ + 1) * width_;
    at_ += 2;
    indices_.resize(std::min(size_, indices_.size() + skipped));
    x_ = indices_.size() % width_;
    return true;
  }

  bool literal(size_t length) {
    const size_t count = std::min(size_ - indices_.size(), length);
    const size_t wanted = is_rle4_ ? (count + 1) / 2 : count;
    const size_t held = std::min(wanted, file_.size() - at_);
    for (size_t i = 0; i < held; ++i) {
      const unsigned value = byte(at_ + i);
      indices_.push_back(static_cast<uint8_t>(is_rle4_ ? value >> 4U : value));
      if (is_rle4_ && i * 2 + 1 < count) indices_.push_back(static_cast<uint8_t>(value & 15U));
    }
    at_ += held;
    if (held < wanted || indices_.size() == size_) return false;
    x_ += length;
    if (at_ % 2 != 0) at_ = std::min(at_ + 1, file_.size());
    return true;
  }

  std::span<const std::byte> file_;
  size_t at_;
  size_t width_;
  size_t size_;
  bool is_rle4_;
  size_t x_ = 0;
  std::vector<uint8_t> indices_;
};

class Decoder {
 public:
  Decoder(std::span<const std::byte> file, const BmpHeader& header, DecodedImage& image)
      : file_(file), header_(header), image_(image) {}

  void decode() {
    const bool is_grey = header_.mode == "1" || header_.mode == "L";
    const std::string_view raw_mode = !header_.is_rle ? header_.raw_mode : (is_grey ? "L" : "P");
    layout_ = find_raw_layout(header_.mode, raw_mode);
    CANTILEVER_CHECK(layout_ != nullptr, "BMP: run lengths in a picture without a palette");
    CANTILEVER_CHECK(!header_.palette_too_large, "BMP: a palette of more than 256 colours");
    if (header_.is_rle) {
      const size_t at = std::min(header_.data_offset, file_.size());
      const std::vector<uint8_t> indices = RleReader(file_, at, header_).read();
      write_rows(indices.data(), header_.width);
    } else {
      check_raw_size();
      write_rows(reinterpret_cast<const uint8_t*>(file_.data()) + header_.data_offset,
                 header_.stride);
    }
  }

 private:
  void check_raw_size() const {
    const int64_t row = layout_->row_bytes(header_.width);
    CANTILEVER_CHECK(row <= header_.stride, "BMP: broken; rows of ", header_.stride,
                     " bytes cannot hold ", header_.width, " pixels");
    const auto held =
        static_cast<int64_t>(file_.size() - std::min(file_.size(), header_.data_offset));
    CANTILEVER_CHECK(held >= row && (held - row) / header_.stride >= header_.height - 1,
                     "BMP: truncated; ", held, " bytes of picture data, ",
                     (header_.height - 1) * header_.stride + row, " are needed");
  }

  void write_rows(const uint8_t* rows, int64_t stride) {
    const auto width = static_cast<int>(header_.width);
    const size_t row_size = static_cast<size_t>(width) * 3;
    image_.pixels.resize(row_size * static_cast<size_t>(header_.height));
    for (int64_t y = 0; y < header_.height; ++y) {
      const int64_t from = header_.top_down ? y : header_.height - 1 - y;
      layout_->to_rgb(rows + from * stride, width, header_.palette,
                      image_.pixels.data() + static_cast<size_t>(y) * row_size);
    }
  }

  std::span<const std::byte> file_;
  const BmpHeader& header_;
  DecodedImage& image_;
  const RawLayout* layout_ = nullptr;
};

DecodedImage decode_with(std::span<const std::byte> file, const BmpHeader& header,
                         const char* format, const DecodeOptions& options) {
  check_picture_size("BMP", header.width, header.height, options);
  DecodedImage image;
  image.format = format;
  image.mode = header.mode;
  image.width = static_cast<int>(header.width);
  image.height = static_cast<int>(header.height);
  Decoder(file, header, image).decode();
  return image;
}

}  // namespace

DecodedImage decode_bmp(std::span<const std::byte> encoded, const DecodeOptions& options) {
  CANTILEVER_CHECK(encoded.size() >= 14, "BMP: truncated in its file header");
  size_t data_offset = 0;
  for (size_t i = 4; i-- > 0;)
    data_offset = data_offset << 8U | static_cast<size_t>(encoded[10 + i]);
  return decode_with(encoded, read_bmp_header(encoded, 14, data_offset), "BMP", options);
}

DecodedImage decode_dib(std::span<const std::byte> encoded, const DecodeOptions& options,
                        const DibPlace& place, size_t* data_offset) {
  BmpHeader header = read_bmp_header(encoded, place.at, 0);
  if (place.in_icon) {
    check_picture_size("BMP", header.width, header.height, options);
    header.height /= 2;
  }
  if (data_offset != nullptr) *data_offset = header.data_offset;
  return decode_with(encoded, header, "DIB", options);
}

}  // namespace cantilever
