#include <algorithm>
#include <array>
#include <cstring>

#include "cantilever/base/error.h"
#include "cantilever/data/image/gif.h"
#include "cantilever/data/image/gif_blocks.h"
#include "cantilever/data/image/limits.h"
#include "cantilever/data/image/raw_rows.h"

namespace cantilever {
namespace {

constexpr int kTableBits = 12;
constexpr size_t kTableSize = size_t{1} << kTableBits;

// Where decoded indices go: rows from top to bottom, or in the four passes of an interlaced GIF.
class IndexRows {
 public:
  IndexRows(int width, int height, bool interlaced)
      : indices(static_cast<size_t>(width) * static_cast<size_t>(height)),
        width_(static_cast<size_t>(width)),
        height_(height),
        pass_(interlaced ? 1 : 0),
        step_(interlaced ? 8 : 1) {}

  // True when the picture is complete; what is left of the run is dropped.
  bool write(const uint8_t* run, size_t length) {
    while (length > 0) {
      const size_t part = std::min(length, width_ - x_);
      std::memcpy(indices.data() + static_cast<size_t>(y_) * width_ + x_, run, part);
      run += part;
      length -= part;
      x_ += part;
      if (x_ == width_ && next_row()) return true;
    }
    return false;
  }

  int row() const { return y_; }

  std::vector<uint8_t> indices;  // [height, width]

 private:
  bool next_row() {
    x_ = 0;
    y_ += step_;
    while (y_ >= height_) {
      if (pass_ == 0) return true;
      // First row and distance of the passes 2, 3, 4 (GIF89a, appendix E).
      constexpr std::array<int, 3> kFirst = {4, 2, 1};
      constexpr std::array<int, 3> kStep = {8, 4, 2};
      y_ = kFirst[static_cast<size_t>(pass_ - 1)];
      step_ = kStep[static_cast<size_t>(pass_ - 1)];
      pass_ = pass_ == 3 ? 0 : pass_ + 1;
    }
    return false;
  }

  size_t width_;
  int height_;
  int pass_;  // 1, 2, 3; 0 in the last one
  int step_;
  size_t x_ = 0;
  int y_ = 0;
};

// Variable-length codes out of data blocks. Pillow reads a file in pieces of 64 KiB and goes on
// behind an end code when there is one more piece; what it finds there decides whether the picture
// is read, so the pieces are kept.
class CodeReader {
 public:
  CodeReader(std::span<const std::byte> file, size_t at) : file_(file), at_(at) {}

  // False where the data ends.
  bool next(int bits, uint32_t& code) {
    while (held_ < bits) {
      if (block_left_ == 0 && !next_block()) return false;
      if (block_left_ == 0) continue;
      buffer_ |= static_cast<uint32_t>(file_[at_++]) << held_;
      held_ += 8;
      --block_left_;
    }
    code = buffer_ & ((1U << bits) - 1);
    buffer_ >>= bits;
    held_ -= bits;
    return true;
  }

  bool next_piece() {
    constexpr size_t kPiece = 65536;
    if (known_ >= file_.size()) return false;
    known_ = std::min(file_.size(), std::max(known_, at_) + kPiece);
    return true;
  }

 private:
  bool next_block() {
    while (true) {
      if (at_ < known_) {
        const auto length = static_cast<size_t>(file_[at_]);
        if (length < known_ - at_) {
          ++at_;
          block_left_ = length;
          return true;
        }
      }
      if (!next_piece()) return false;
    }
  }

  std::span<const std::byte> file_;
  size_t at_;
  size_t known_ = 0;  // end of the pieces that have been read
  size_t block_left_ = 0;
  uint32_t buffer_ = 0;
  int held_ = 0;
};

// LZW as GIF has it: strings as a chain of (last byte, code of the rest).
class Decoder {
 public:
  Decoder(std::span<const std::byte> file, const GifHeader& header)
      : rows_(header.frame_width, header.frame_height, header.interlaced),
        codes_(file, header.data_offset),
        header_(header),
        clear_(1U << header.code_bits) {
    codes_.next_piece();
  }

  std::vector<uint8_t> decode() {
    restart();
    while (!step()) {
    }
    return std::move(rows_.indices);
  }

 private:
  void restart() {
    next_ = clear_ + 2;
    bits_ = header_.code_bits + 1;
    is_first_ = true;
  }

  // One code; true when the picture is complete.
  bool step() {
    uint32_t code = 0;
    if (!codes_.next(bits_, code)) fail_truncated();
    if (code == clear_) {
      restart();
      return false;
    }
    if (code == clear_ + 1) {
      if (!codes_.next_piece()) fail_truncated();
      return false;
    }
    if (is_first_) {
      check(code < clear_);
      is_first_ = false;
      last_code_ = code;
      last_byte_ = static_cast<uint8_t>(code);
      return rows_.write(&last_byte_, 1);
    }
    return expand(code);
  }

  bool expand(uint32_t code) {
    check(code <= next_);
    size_t at = string_.size();
    const auto push = [&](uint8_t byte) {
      check(at > 0);
      string_[--at] = byte;
    };
    uint32_t rest = code;
    if (code == next_) {
      push(last_byte_);
      rest = last_code_;
    }
    while (rest >= clear_) {
      check(rest < kTableSize);
      push(byte_[rest]);
      rest = link_[rest];
    }
    last_byte_ = static_cast<uint8_t>(rest);
    if (next_ < kTableSize) add_string();
    last_code_ = code;
    // The first byte of the string comes before the rest of it.
    std::array<uint8_t, 1> first = {last_byte_};
    return rows_.write(first.data(), 1) || rows_.write(string_.data() + at, string_.size() - at);
  }

  void add_string() {
    byte_[next_] = last_byte_;
    link_[next_] = static_cast<uint16_t>(last_code_);
    if (next_ == (1U << bits_) - 1 && bits_ < kTableBits) ++bits_;
    ++next_;
  }

  void check(bool sound) const {
    CANTILEVER_CHECK(sound, "GIF: broken picture data in row ", rows_.row(), " of ",
                     header_.frame_height);
  }

  [[noreturn]] void fail_truncated() const {
    throw_error(concat("GIF: truncated; the picture data ends in row ", rows_.row(), " of ",
                       header_.frame_height, header_.interlaced ? " (interlaced)" : ""));
  }

  IndexRows rows_;
  CodeReader codes_;
  const GifHeader& header_;
  uint32_t clear_;
  uint32_t next_ = 0;  // first free entry of the table
  int bits_ = 0;
  bool is_first_ = true;  // behind a clear code
  uint32_t last_code_ = 0;
  uint8_t last_byte_ = 0;
  std::array<uint8_t, kTableSize> byte_ = {};
  std::array<uint16_t, kTableSize> link_ = {};
  std::array<uint8_t, kTableSize> string_ = {};
};

RgbPalette palette_of(const GifHeader& header) {
  RgbPalette palette = {};
  if (header.palette.empty()) {
    for (size_t i = 0; i < palette.size(); ++i) palette[i].fill(static_cast<uint8_t>(i));
  } else {
    std::memcpy(palette.data(), header.palette.data(), header.palette.size());
  }
  return palette;
}

void check_header(const GifHeader& header, size_t file_bytes) {
  CANTILEVER_CHECK(header.frame_width > 0 && header.frame_height > 0, "GIF: its picture is ",
                   header.frame_width, " x ", header.frame_height, " pixels, which is none");
  CANTILEVER_CHECK(header.code_bits <= kTableBits, "GIF: broken; a code size of ", header.code_bits,
                   " bits, at most ", kTableBits, " are possible");
  // A code of twelve bits is a string of 4096 pixels at most.
  const size_t pixels =
      static_cast<size_t>(header.frame_width) * static_cast<size_t>(header.frame_height);
  CANTILEVER_CHECK(pixels / kTableSize <= file_bytes, "GIF: truncated or broken; ", file_bytes,
                   " bytes cannot hold the ", header.frame_width, " x ", header.frame_height,
                   " pixels its header declares");
}

}  // namespace

DecodedImage decode_gif(std::span<const std::byte> encoded, const DecodeOptions& options) {
  const GifHeader header = read_gif_header(encoded);
  check_picture_size("GIF", header.width, header.height, options);
  check_header(header, encoded.size());
  const std::vector<uint8_t> indices = Decoder(encoded, header).decode();
  const RgbPalette palette = palette_of(header);
  DecodedImage image;
  image.format = "GIF";
  image.mode = header.is_grey ? "L" : "P";
  image.width = header.width;
  image.height = header.height;
  const size_t width = static_cast<size_t>(header.width);
  image.pixels.resize(width * static_cast<size_t>(header.height) * 3);
  const std::array<uint8_t, 3> outside = palette[header.transparent.value_or(0)];
  if (header.frame_width < header.width || header.frame_height < header.height) {
    uint8_t* pixel = image.pixels.data();
    for (size_t i = 0; i < image.pixels.size(); i += 3) std::memcpy(pixel + i, outside.data(), 3);
  }
  const uint8_t* index = indices.data();
  for (int y = 0; y < header.frame_height; ++y) {
    const size_t at =
        static_cast<size_t>(header.top + y) * width + static_cast<size_t>(header.left);
    uint8_t* pixel = image.pixels.data() + at * 3;
    for (int x = 0; x < header.frame_width; ++x, pixel += 3) {
      std::memcpy(pixel, palette[*index++].data(), 3);
    }
  }
  return image;
}

}  // namespace cantilever
