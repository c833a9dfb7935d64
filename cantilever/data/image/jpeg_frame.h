#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace cantilever {

// A Huffman table as a file states it (ITU-T T.81, B.2.4.2): how many codes of each length, and
// their symbols in order of the codes. Points into the file.
struct JpegCodeLengths {
  const uint8_t* counts = nullptr;  // [16]; null: the file has no such table
  const uint8_t* symbols = nullptr;
  int total = 0;
};

struct JpegFrameComponent {
  std::array<uint16_t, 64> quantisation = {};  // row by row, not in zigzag order
  JpegCodeLengths dc;
  JpegCodeLengths ac;
};

// A picture of the common kind: sequential Huffman, 8 bits, one interleaved scan, grey or YCbCr
// with chroma as large as luma or half as large.
struct JpegFrame {
  int width = 0;
  int height = 0;
  int components = 0;  // 1 or 3
  int across = 1;      // samples of luma for one of chroma, 1 or 2
  int down = 1;
  int restart_interval = 0;  // MCUs, 0: none
  size_t scan_begin = 0;     // where the entropy-coded bytes begin
  std::array<JpegFrameComponent, 3> component;

  int mcu_width() const { return 8 * across; }
  int mcu_height() const { return 8 * down; }
  int mcus_across() const { return (width + mcu_width() - 1) / mcu_width(); }
  int mcus_down() const { return (height + mcu_height() - 1) / mcu_height(); }
  int chroma_width() const { return (width + across - 1) / across; }
  int chroma_height() const { return (height + down - 1) / down; }
};

// Reads the segments up to the scan. False for every other kind of picture and for anything
// unusual on the way (junk between segments, lengths that do not fit, tables that are missing):
// that is libjpeg's to judge. Never throws.
bool read_jpeg_frame(std::span<const std::byte> encoded, JpegFrame& frame);

// Where coefficient k of the zigzag order lies in a block, row by row (T.81, figure A.6).
extern const std::array<uint8_t, 64> kJpegNaturalOrder;

}  // namespace cantilever
