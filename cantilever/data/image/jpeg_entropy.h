#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "cantilever/data/image/jpeg_huffman.h"
#include "cantilever/data/image/jpeg_scan.h"

namespace cantilever {

// Two blocks side by side, as the inverse transform takes them: coefficient (row, column) of block
// `lane` is at [row * 16 + lane * 8 + column]. Behind them one slot a lane for what a broken file
// writes past its block, and one for where the block ended.
struct alignas(32) JpegBlockPair {
  static constexpr int kLane = 8;
  static constexpr int kOverflow = 128;
  static constexpr int kLast = 129;
  std::array<int16_t, 144> coefficients;

  // Whether both blocks have nothing but their first coefficient.
  bool is_flat() const { return (coefficients[kLast] | coefficients[kLast + kLane]) == 0; }
};

struct JpegBlockCode {
  const JpegDcTable* dc = nullptr;
  const JpegAcTable* ac = nullptr;
  size_t component = 0;
};

// The entropy decoder of one scan: where it stands between two MCUs.
struct JpegEntropy {
  std::array<JpegBlockCode, 6> blocks;  // of one MCU, in order of the file
  int blocks_per_mcu = 0;
  int restart_interval = 0;  // MCUs, 0: none

  const JpegScan* scan = nullptr;
  size_t segment = 0;  // between restarts
  int until_restart = 0;
  uint64_t bits = 0;  // the next ones, left
  int count = 0;      // how many are surely there
  const uint8_t* next = nullptr;
  std::array<int, 3> last_dc = {};

  void start(const JpegScan& new_scan);
  // Bits of the segment that are not used up; negative: it was read past its end.
  ptrdiff_t bits_left() const;
  // A segment is padded to a whole byte, by less than eight bits.
  bool is_at_segment_end() const;
  bool start_segment(size_t index);
};

// Decodes `count` MCUs. `pairs` gets their blocks one after the other, two by two, beginning with
// lane 0; it must be zero before. With null the blocks are only passed over. False at the first
// irregularity; what lies in `pairs` is then good for nothing.
using DecodeJpegMcus = bool (*)(JpegEntropy& entropy, int count, JpegBlockPair* pairs);
DecodeJpegMcus jpeg_mcu_decoder();
DecodeJpegMcus portable_jpeg_mcu_decoder();

}  // namespace cantilever
