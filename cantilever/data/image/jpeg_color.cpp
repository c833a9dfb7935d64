#include "cantilever/data/image/jpeg_color.h"

#include <algorithm>

#include "cantilever/data/image/jpeg_color_avx2.h"

namespace cantilever {
namespace {

uint8_t clamp_level(int level) {
  return static_cast<uint8_t>(std::clamp(level, 0, 255));
}

// As the tables of jdcolor.c: 16 bits behind the point, green rounded once for both terms.
void ycc_to_rgb(const uint8_t* y, const uint8_t* cb, const uint8_t* cr, int count, uint8_t* rgb) {
  constexpr int kHalf = 1 << 15;
  for (int i = 0; i < count; ++i, rgb += 3) {
    const int blue = cb[i] - 128;
    const int red = cr[i] - 128;
    rgb[0] = clamp_level(y[i] + ((91881 * red + kHalf) >> 16));
    rgb[1] = clamp_level(y[i] + ((-22554 * blue - 46802 * red + kHalf) >> 16));
    rgb[2] = clamp_level(y[i] + ((116130 * blue + kHalf) >> 16));
  }
}

void grey_to_rgb(const uint8_t* grey, int count, uint8_t* rgb) {
  for (int i = 0; i < count; ++i, rgb += 3) std::fill_n(rgb, 3, grey[i]);
}

void upsample_across(const uint8_t* from, int count, uint8_t* to) {
  for (int i = 0; i < count; ++i) {
    to[2 * i] = static_cast<uint8_t>((3 * from[i] + from[i - 1] + 1) >> 2);
    to[2 * i + 1] = static_cast<uint8_t>((3 * from[i] + from[i + 1] + 2) >> 2);
  }
}

void upsample_down(const uint8_t* near, const uint8_t* far, int bias, int count, uint8_t* to) {
  for (int i = 0; i < count; ++i) to[i] = static_cast<uint8_t>((3 * near[i] + far[i] + bias) >> 2);
}

void upsample_both(const uint8_t* near, const uint8_t* far, int count, uint8_t* to) {
  const auto sum = [near, far](int i) { return 3 * near[i] + far[i]; };
  for (int i = 0; i < count; ++i) {
    to[2 * i] = static_cast<uint8_t>((3 * sum(i) + sum(i - 1) + 8) >> 4);
    to[2 * i + 1] = static_cast<uint8_t>((3 * sum(i) + sum(i + 1) + 7) >> 4);
  }
}

constexpr JpegColorKernels kPortable = {ycc_to_rgb, grey_to_rgb, upsample_across, upsample_down,
                                        upsample_both};
}  // namespace

const JpegColorKernels& portable_jpeg_color_kernels() {
  return kPortable;
}

const JpegColorKernels& jpeg_color_kernels() {
#if defined(__x86_64__)
  static const bool has_avx2 = __builtin_cpu_supports("avx2") != 0;
  if (has_avx2) return kJpegColorKernelsAvx2;
#endif
  return kPortable;
}

}  // namespace cantilever
