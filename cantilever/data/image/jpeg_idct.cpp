#include "cantilever/data/image/jpeg_idct.h"

#include <algorithm>
#include <cstring>

#include "cantilever/data/image/jpeg_idct_constants.h"

// Note [The arithmetic of the vector code]
// libjpeg-turbo's vector code computes with 16-bit numbers what its C code computes with 32: it
// multiplies by the quantisation, adds before the rotations and passes on what the first pass found
// in 16 bits, wrapped in the first two cases and clamped in the third. Coefficients of a picture
// never get that far; those of a damaged file do. A block without coefficients below its first row
// takes a short cut there that wraps instead of clamping. This file repeats all of that.

namespace cantilever {
namespace {

using namespace jpeg_idct;  // the constants

int32_t wrap_16(int32_t value) {
  return static_cast<int16_t>(static_cast<uint16_t>(static_cast<uint32_t>(value)));
}

int32_t wrapped_sum(int32_t a, int32_t b) {
  return static_cast<int32_t>(static_cast<uint32_t>(a) + static_cast<uint32_t>(b));
}

// Rounded and clamped to 16 bits.
int32_t descale(int32_t value, int shift) {
  return std::clamp(wrapped_sum(value, 1 << (shift - 1)) >> shift, -32768, 32767);
}

// One line of eight, `step` apart.
void transform_line(int32_t* line, int step, int shift) {
  const auto in = [line, step](int i) { return line[i * step]; };
  const int32_t even2 = in(2) * kF0541 + in(6) * (kF0541 - kF1847);
  const int32_t even3 = in(2) * (kF0541 + kF0765) + in(6) * kF0541;
  const int32_t even0 = wrap_16(in(0) + in(4)) * (1 << kConstBits);
  const int32_t even1 = wrap_16(in(0) - in(4)) * (1 << kConstBits);
  const int32_t sum73 = wrap_16(in(7) + in(3));
  const int32_t sum51 = wrap_16(in(5) + in(1));
  const int32_t z3 = sum73 * (kF1175 - kF1961) + sum51 * kF1175;
  const int32_t z4 = sum73 * kF1175 + sum51 * (kF1175 - kF0390);
  const int32_t odd0 = wrapped_sum(in(7) * (kF0298 - kF0899) - in(1) * kF0899, z3);
  const int32_t odd3 = wrapped_sum(in(1) * (kF1501 - kF0899) - in(7) * kF0899, z4);
  const int32_t odd1 = wrapped_sum(in(5) * (kF2053 - kF2562) - in(3) * kF2562, z4);
  const int32_t odd2 = wrapped_sum(in(3) * (kF3072 - kF2562) - in(5) * kF2562, z3);
  const int32_t even[4] = {wrapped_sum(even0, even3), wrapped_sum(even1, even2),
                           wrapped_sum(even1, -even2), wrapped_sum(even0, -even3)};
  const int32_t odd[4] = {odd3, odd2, odd1, odd0};
  for (int i = 0; i < 4; ++i) {
    const auto negative = static_cast<int32_t>(0U - static_cast<uint32_t>(odd[i]));
    line[i * step] = descale(wrapped_sum(even[i], odd[i]), shift);
    line[(7 - i) * step] = descale(wrapped_sum(even[i], negative), shift);
  }
}

void first_pass(const int16_t* coefficients, const uint16_t* quantisation, int32_t* work) {
  bool has_only_first_row = true;
  for (int row = 0; row < 8; ++row) {
    for (int column = 0; column < 8; ++column) {
      const int at = row * 16 + column;
      has_only_first_row = has_only_first_row && (row == 0 || coefficients[at] == 0);
      const uint32_t product =
          static_cast<uint32_t>(coefficients[at]) * static_cast<uint32_t>(quantisation[at]);
      work[row * 8 + column] = wrap_16(static_cast<int32_t>(product));
    }
  }
  for (int column = 0; column < 8; ++column) {
    if (!has_only_first_row) {
      transform_line(work + column, 8, kFirstShift);
      continue;
    }
    const int32_t value = wrap_16(work[column] * (1 << kPass1Bits));
    for (int row = 0; row < 8; ++row) work[row * 8 + column] = value;
  }
}

void transform_block(const int16_t* coefficients, const uint16_t* quantisation,
                     const JpegBlockPlace& to) {
  int32_t work[64];
  first_pass(coefficients, quantisation, work);
  for (int row = 0; row < 8; ++row) {
    transform_line(work + row * 8, 1, kSecondShift);
    for (int column = 0; column < 8; ++column) {
      const int32_t sample = std::clamp(work[row * 8 + column], -128, 127) + 128;
      to.samples[row * to.stride + column] = static_cast<uint8_t>(sample);
    }
  }
}

}  // namespace

void transform_jpeg_pair_portable(JpegBlockPair& pair, const JpegPairQuantisation& quantisation,
                                  const JpegBlockPlace& first, const JpegBlockPlace& second) {
  transform_block(pair.coefficients.data(), quantisation.data(), first);
  transform_block(pair.coefficients.data() + JpegBlockPair::kLane,
                  quantisation.data() + JpegBlockPair::kLane, second);
  pair.coefficients.fill(0);
}

TransformJpegPair portable_jpeg_pair_transform() {
  return transform_jpeg_pair_portable;
}

TransformJpegPair jpeg_pair_transform() {
#if defined(__x86_64__)
  static const bool has_avx2 = __builtin_cpu_supports("avx2") != 0;
  if (has_avx2) return transform_jpeg_pair_avx2;
#endif
  return transform_jpeg_pair_portable;
}

}  // namespace cantilever
