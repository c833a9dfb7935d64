#pragma once

#include <cstdint>

#include "cantilever/data/image/jpeg_idct.h"

// Shared by the two bodies of the inverse transform.

namespace cantilever {

void transform_jpeg_pair_portable(JpegBlockPair& pair, const JpegPairQuantisation& quantisation,
                                  const JpegBlockPlace& first, const JpegBlockPlace& second);
void transform_jpeg_pair_avx2(JpegBlockPair& pair, const JpegPairQuantisation& quantisation,
                              const JpegBlockPlace& first, const JpegBlockPlace& second);

namespace jpeg_idct {

constexpr int kConstBits = 13;
constexpr int kPass1Bits = 2;
constexpr int kFirstShift = kConstBits - kPass1Bits;
constexpr int kSecondShift = kConstBits + kPass1Bits + 3;

// The rotations, times 2^13: kF0298 is 0.298631336 and so on.
constexpr int32_t fixed(double x) {
  return static_cast<int32_t>(x * (1 << kConstBits) + 0.5);
}
constexpr int32_t kF0298 = fixed(0.298631336);
constexpr int32_t kF0390 = fixed(0.390180644);
constexpr int32_t kF0541 = fixed(0.541196100);
constexpr int32_t kF0765 = fixed(0.765366865);
constexpr int32_t kF0899 = fixed(0.899976223);
constexpr int32_t kF1175 = fixed(1.175875602);
constexpr int32_t kF1501 = fixed(1.501321110);
constexpr int32_t kF1847 = fixed(1.847759065);
constexpr int32_t kF1961 = fixed(1.961570560);
constexpr int32_t kF2053 = fixed(2.053119869);
constexpr int32_t kF2562 = fixed(2.562915447);
constexpr int32_t kF3072 = fixed(3.072711026);

}  // namespace jpeg_idct
}  // namespace cantilever
