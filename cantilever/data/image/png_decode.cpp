#define ZLIB_CONST  // input pointers to const
#include <zlib.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "cantilever/base/error.h"
#include "cantilever/data/image/limits.h"
#include "cantilever/data/image/png.h"
#include "cantilever/data/image/png_chunks.h"

// PNG is decoded here and not by libpng, because the outcome on damaged files must be that of
// Pillow, which has a decoder of its own: README.md lists where the two differ.

namespace cantilever {
namespace {

// The seven passes of Adam7 (PNG specification 8.2) and the single one of a plain picture.
struct Pass {
  int left, top, step_x, step_y;
};
constexpr std::array<Pass, 7> kAdam7 = {{{0, 0, 8, 8},
                                         {4, 0, 8, 8},
                                         {0, 4, 4, 8},
                                         {2, 0, 4, 4},
                                         {0, 2, 2, 4},
                                         {1, 0, 2, 2},
                                         {0, 1, 1, 2}}};
constexpr Pass kWhole = {0, 0, 1, 1};

using Palette = std::array<std::array<uint8_t, 3>, 256>;

uint8_t paeth(int left, int up, int corner) {
  const int to_left = std::abs(up - corner);
  const int to_up = std::abs(left - corner);
  const int to_corner = std::abs(left + up - 2 * corner);
  if (to_left <= to_up && to_left <= to_corner) return static_cast<uint8_t>(left);
  return static_cast<uint8_t>(to_up <= to_corner ? up : corner);
}

// Undoes filter `type` (PNG specification 9.2) on `row`; `bytes` a pixel, at least 1.
void unfilter(int type, size_t bytes, size_t size, const uint8_t* previous, uint8_t* row) {
  const size_t first = std::min(bytes, size);
  switch (type) {
    case 1:
      for (size_t i = bytes; i < size; ++i) row[i] = static_cast<uint8_t>(row[i] + row[i - bytes]);
      break;
    case 2:
      for (size_t i = 0; i < size; ++i) row[i] = static_cast<uint8_t>(row[i] + previous[i]);
      break;
    case 3:
      for (size_t i = 0; i < first; ++i) row[i] = static_cast<uint8_t>(row[i] + previous[i] / 2);
      for (size_t i = bytes; i < size; ++i) {
        row[i] = static_cast<uint8_t>(row[i] + (row[i - bytes] + previous[i]) / 2);
      }
      break;
    case 4:
      for (size_t i = 0; i < first; ++i) row[i] = static_cast<uint8_t>(row[i] + previous[i]);
      for (size_t i = bytes; i < size; ++i) {
        row[i] =
            static_cast<uint8_t>(row[i] + paeth(row[i - bytes], previous[i], previous[i - bytes]));
      }
      break;
    default:
      break;
  }
}

// Entries that the file does not give are black.
Palette read_palette(std::string_view bytes) {
  Palette palette = {};
  const size_t count = bytes.size() / 3;
  CANTILEVER_CHECK(count <= palette.size(), "PNG: a palette of ", count, " colours, 256 fit");
  for (size_t i = 0; i < count; ++i) std::memcpy(palette[i].data(), bytes.data() + i * 3, 3);
  return palette;
}

// One row of stored samples to RGB. `step` is the distance of two pixels in `out`, in pixels.
class RowWriter {
 public:
  RowWriter(const PngLayout& layout, const Palette& palette) : layout_(layout), palette_(palette) {}

  void write(const uint8_t* row, int count, int step, uint8_t* out) const {
    if (layout_.bit_depth == 8 && layout_.samples == 3 && step == 1) {
      std::memcpy(out, row, static_cast<size_t>(count) * 3);
      return;
    }
    for (int i = 0; i < count; ++i, out += static_cast<ptrdiff_t>(step) * 3) {
      if (layout_.bit_depth < 8) {
        write_packed(row, i, out);
      } else {
        write_bytes(row + static_cast<ptrdiff_t>(i) * (layout_.bits_per_pixel() / 8), out);
      }
    }
  }

 private:
  void write_grey(int value, uint8_t* out) const { std::memset(out, value, 3); }

  void write_packed(const uint8_t* row, int i, uint8_t* out) const {
    const int depth = layout_.bit_depth;
    const int in_byte = 8 / depth;
    const int largest = (1 << depth) - 1;
    const int value = row[i / in_byte] >> (8 - depth * (i % in_byte + 1)) & largest;
    if (layout_.is_palette) {
      std::memcpy(out, palette_[static_cast<size_t>(value)].data(), 3);
    } else {
      write_grey(value * (255 / largest), out);
    }
  }

  void write_bytes(const uint8_t* pixel, uint8_t* out) const {
    if (layout_.is_palette) {
      std::memcpy(out, palette_[pixel[0]].data(), 3);
    } else if (layout_.samples >= 3) {
      const int step = layout_.bit_depth / 8;  // of 16 bits the high byte
      for (int c = 0; c < 3; ++c) out[c] = pixel[c * step];
    } else if (layout_.samples == 1 && layout_.bit_depth == 16) {
      // Pillow clips 16-bit grey, so that all above 255 is white, and does not scale it.
      write_grey(pixel[0] != 0 ? 255 : pixel[1], out);
    } else {
      write_grey(pixel[0], out);
    }
  }

  const PngLayout& layout_;
  const Palette& palette_;
};

class Decoder {
 public:
  Decoder(PngChunks& chunks, DecodedImage& image)
      : chunks_(chunks),
        image_(image),
        palette_(read_palette(chunks.palette())),
        writer_(chunks.layout(), palette_) {
    const PngRegion whole = {0, 0, chunks.width(), chunks.height()};
    const PngRegion region = chunks.first_frame().value_or(whole);
    left_ = static_cast<int>(region.left);
    top_ = static_cast<int>(region.top);
    width_ = static_cast<int>(region.width);
    height_ = static_cast<int>(region.height);
    CANTILEVER_CHECK(width_ > 0 && height_ > 0, "PNG: broken animation; its first frame is empty");
  }
  ~Decoder() {
    if (ready_) inflateEnd(&stream_);
  }
  Decoder(const Decoder&) = delete;
  Decoder& operator=(const Decoder&) = delete;

  void decode() {
    ready_ = inflateInit(&stream_) == Z_OK;
    CANTILEVER_CHECK(ready_, "PNG: no memory to unpack it");
    row_.resize(row_bytes(kWhole) + 1);
    previous_.resize(row_.size());
    start_pass(0);
    bool done = false;
    while (!done) {
      const std::string_view piece = chunks_.next_data();
      CANTILEVER_CHECK(!piece.empty(), "PNG: truncated; the picture data ends in row ", y_, " of ",
                       height_, chunks_.interlaced() ? " (interlaced)" : "");
      done = consume(piece);
    }
  }

 private:
  const Pass& pass() const { return chunks_.interlaced() ? kAdam7[pass_] : kWhole; }

  int pixels_in_row(const Pass& pass) const {
    return (width_ - pass.left + pass.step_x - 1) / pass.step_x;
  }

  size_t row_bytes(const Pass& pass) const {
    const auto bits = static_cast<size_t>(chunks_.layout().bits_per_pixel());
    return (static_cast<size_t>(std::max(0, pixels_in_row(pass))) * bits + 7) / 8;
  }

  void start_pass(size_t pass_index) {
    pass_ = pass_index;
    y_ = pass().top;
    row_size_ = row_bytes(pass());
  }

  // Unpacks what `piece` holds; true when the picture is complete or its stream ends.
  bool consume(std::string_view piece) {
    stream_.next_in = reinterpret_cast<const Bytef*>(piece.data());
    stream_.avail_in = static_cast<uInt>(piece.size());
    while (stream_.avail_in > 0) {
      stream_.next_out = row_.data() + filled_;
      stream_.avail_out = static_cast<uInt>(row_size_ + 1 - filled_);
      const int status = inflate(&stream_, Z_NO_FLUSH);
      CANTILEVER_CHECK(status >= 0, "PNG: broken picture data in row ", y_, " of ", height_, " (",
                       stream_.msg != nullptr ? stream_.msg : "inflate failed", ")");
      filled_ = row_size_ + 1 - stream_.avail_out;
      if (stream_.avail_out > 0) return false;  // the row needs more data
      finish_row();
      filled_ = 0;
      if (y_ >= height_ || status == Z_STREAM_END) return true;
      std::swap(row_, previous_);
    }
    return false;
  }

  void finish_row() {
    const int filter = row_[0];
    CANTILEVER_CHECK(filter <= 4, "PNG: broken picture data; row ", y_, " of ", height_,
                     " has filter ", filter, ", 0 to 4 are known");
    const auto bytes = static_cast<size_t>(chunks_.layout().bits_per_pixel() + 7) / 8;
    unfilter(filter, bytes, row_size_, previous_.data() + 1, row_.data() + 1);
    // Pillow places an interlaced frame at the corner whatever its offset; so do we.
    const int left = chunks_.interlaced() ? pass().left : left_;
    const int y = chunks_.interlaced() ? y_ : y_ + top_;
    const size_t at =
        (static_cast<size_t>(y) * static_cast<size_t>(image_.width) + static_cast<size_t>(left)) *
        3;
    writer_.write(row_.data() + 1, pixels_in_row(pass()), pass().step_x, image_.pixels.data() + at);
    next_row();
  }

  void next_row() {
    y_ += pass().step_y;
    if (!chunks_.interlaced()) return;
    while (y_ >= height_ || row_size_ == 0) {
      if (pass_ + 1 == kAdam7.size()) {
        y_ = height_;
        return;
      }
      start_pass(pass_ + 1);
      std::fill(row_.begin(), row_.end(), uint8_t{0});  // becomes the row before the first one
    }
  }

  PngChunks& chunks_;
  DecodedImage& image_;
  Palette palette_;
  RowWriter writer_;
  int left_ = 0;
  int top_ = 0;
  int width_ = 0;
  int height_ = 0;
  z_stream stream_ = {};
  bool ready_ = false;
  std::vector<uint8_t> row_;
  std::vector<uint8_t> previous_;
  size_t pass_ = 0;
  int y_ = 0;
  size_t row_size_ = 0;
  size_t filled_ = 0;  // of row_, filter byte included
};

// Deflate packs at most 1032 to 1, so a short file cannot hold what a large header declares.
void check_plausible(const PngChunks& chunks, size_t file_bytes) {
  constexpr size_t kSmallEnough = size_t{64} << 20U;
  const size_t pixels = size_t{chunks.width()} * chunks.height();
  const size_t stored = pixels * static_cast<size_t>(chunks.layout().bits_per_pixel()) / 8;
  CANTILEVER_CHECK(pixels * 3 <= kSmallEnough || stored / 1032 <= file_bytes,
                   "PNG: truncated or broken; ", file_bytes, " bytes cannot hold the ",
                   chunks.width(), " x ", chunks.height(), " pixels its header declares");
}

}  // namespace

DecodedImage decode_png(std::span<const std::byte> encoded, const DecodeOptions& options) {
  PngChunks chunks(encoded);
  chunks.read_header();
  check_picture_size("PNG", chunks.width(), chunks.height(), options);
  check_plausible(chunks, encoded.size());
  DecodedImage image;
  image.format = "PNG";
  image.mode = chunks.layout().mode;
  image.width = static_cast<int>(chunks.width());
  image.height = static_cast<int>(chunks.height());
  const size_t pixels = static_cast<size_t>(image.width) * static_cast<size_t>(image.height);
  image.pixels.resize(pixels * 3);
  // What the data leaves out is sample 0: black, or the first colour of a palette.
  if (chunks.palette().size() >= 3) {
    const std::string_view first = chunks.palette().substr(0, 3);
    for (size_t i = 0; i < pixels; ++i) std::memcpy(image.pixels.data() + i * 3, first.data(), 3);
  }
  Decoder(chunks, image).decode();
  chunks.read_trailer();
  image.exif_orientation = chunks.orientation();
  return image;
}

}  // namespace cantilever
