#pragma once

#include <cstddef>
#include <cstdint>

namespace cantilever {

// Rows of samples to rows of RGB, bit-equal to libjpeg-turbo 2.1.5 with its default settings. All
// kernels may read and write up to kJpegRowSlack bytes past the counts they are given (three times
// that for RGB).
constexpr int kJpegRowSlack = 64;

struct JpegColorKernels {
  // rgb[i] of y[i], cb[i], cr[i] (JFIF: full range, 1.402, 0.344, 0.714, 1.772), i < count.
  void (*ycc_to_rgb)(const uint8_t* y, const uint8_t* cb, const uint8_t* cr, int count,
                     uint8_t* rgb);
  void (*grey_to_rgb)(const uint8_t* grey, int count, uint8_t* rgb);
  // Triangle filters: twice as many columns. Reads from[-1] to from[count], writes 2 * count.
  void (*upsample_across)(const uint8_t* from, int count, uint8_t* to);
  // Three quarters of `near`, one of `far`, rounded by `bias` (1 or 2) over 4; writes count.
  void (*upsample_down)(const uint8_t* near, const uint8_t* far, int bias, int count, uint8_t* to);
  // Both at once. Reads [-1] to [count] of both rows, writes 2 * count.
  void (*upsample_both)(const uint8_t* near, const uint8_t* far, int count, uint8_t* to);
};

const JpegColorKernels& jpeg_color_kernels();
const JpegColorKernels& portable_jpeg_color_kernels();

}  // namespace cantilever
