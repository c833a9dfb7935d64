#include "cantilever/data/image/jpeg_scan.h"

#include <algorithm>
#include <bit>
#include <cstring>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace cantilever {
namespace {

constexpr size_t kStep = 32;

// Copies up to the next FF or the end; returns how many bytes.
using CopyPlain = size_t (*)(const uint8_t* from, size_t count, uint8_t* to);

size_t copy_plain_portable(const uint8_t* from, size_t count, uint8_t* to) {
  if (count == 0) return 0;  // memchr and memcpy must not see a null pointer
  const void* found = std::memchr(from, 0xff, count);
  const size_t plain =
      found == nullptr ? count : static_cast<size_t>(static_cast<const uint8_t*>(found) - from);
  std::memcpy(to, from, plain);
  return plain;
}

#if defined(__x86_64__)
// Writes up to a step further than it returns.
__attribute__((target("avx2"))) size_t copy_plain_avx2(const uint8_t* from, size_t count,
                                                       uint8_t* to) {
  const __m256i marker = _mm256_set1_epi8(-1);
  size_t at = 0;
  for (; at + kStep <= count; at += kStep) {
    const __m256i bytes = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from + at));
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(to + at), bytes);
    const auto found =
        static_cast<uint32_t>(_mm256_movemask_epi8(_mm256_cmpeq_epi8(bytes, marker)));
    if (found != 0) return at + static_cast<size_t>(std::countr_zero(found));
  }
  return at + copy_plain_portable(from + at, count - at, to + at);
}
#endif

bool unstuff(std::span<const uint8_t> stuffed, JpegScan& scan, CopyPlain copy_plain) {
  constexpr uint8_t kFirstRestart = 0xd0;
  constexpr uint8_t kEndOfImage = 0xd9;
  const size_t needed = stuffed.size() + kJpegScanPadding + kStep;
  if (scan.bytes.size() < needed) scan.bytes.resize(std::max(needed, scan.bytes.size() * 2));
  scan.ends.clear();
  const uint8_t* from = stuffed.data();
  const uint8_t* const end = from + stuffed.size();
  uint8_t* const begin = scan.bytes.data();
  uint8_t* to = begin;
  for (;;) {
    const size_t plain = copy_plain(from, static_cast<size_t>(end - from), to);
    from += plain;
    to += plain;
    if (end - from < 2) return false;
    const uint8_t marker = from[1];
    from += 2;
    if (marker == 0) {
      *to++ = 0xff;
      continue;
    }
    const bool is_end = marker == kEndOfImage;
    if (!is_end && marker != kFirstRestart + scan.ends.size() % 8) return false;
    scan.ends.push_back(static_cast<size_t>(to - begin));
    if (is_end) return true;
  }
}

}  // namespace

bool unstuff_jpeg_scan_portable(std::span<const uint8_t> stuffed, JpegScan& scan) {
  return unstuff(stuffed, scan, copy_plain_portable);
}

bool unstuff_jpeg_scan(std::span<const uint8_t> stuffed, JpegScan& scan) {
#if defined(__x86_64__)
  static const bool has_avx2 = __builtin_cpu_supports("avx2") != 0;
  if (has_avx2) return unstuff(stuffed, scan, copy_plain_avx2);
#endif
  return unstuff(stuffed, scan, copy_plain_portable);
}

}  // namespace cantilever
