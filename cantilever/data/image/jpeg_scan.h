#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace cantilever {

// The entropy-coded bytes of a scan without their stuffing (T.81, B.1.1.5: FF 00 stands for FF), so
// that the decoder reads eight at a time and looks for no markers. Keeps its memory.
struct JpegScan {
  std::vector<uint8_t> bytes;  // at least kJpegScanPadding more than `ends` says
  std::vector<size_t> ends;    // of each restart interval, in `bytes`; one without restarts
};

// More than one MCU of ten blocks can take, 64 coefficients of at most 32 bits each.
constexpr size_t kJpegScanPadding = 4096;

// `stuffed` begins behind the scan header. False unless an end marker follows the scan, with
// nothing but restart markers in their order before it. Does not read outside of `stuffed`.
bool unstuff_jpeg_scan(std::span<const uint8_t> stuffed, JpegScan& scan);
bool unstuff_jpeg_scan_portable(std::span<const uint8_t> stuffed, JpegScan& scan);

}  // namespace cantilever
