#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "cantilever/data/image/jpeg_entropy.h"

namespace cantilever {

// Quantisation of two blocks, laid out as their coefficients.
using JpegPairQuantisation = std::array<uint16_t, 128>;

// Where the 8 x 8 samples of a block go: rows `stride` bytes apart.
struct JpegBlockPlace {
  uint8_t* samples = nullptr;
  ptrdiff_t stride = 0;
};

// The accurate integer inverse transform of libjpeg (jidctint: Loeffler, Ligtenberg and Moschytz
// 1989), with the 16-bit intermediates of its vector code, so that absurd coefficients give the
// same samples too. Sets the coefficients to zero.
using TransformJpegPair = void (*)(JpegBlockPair& pair, const JpegPairQuantisation& quantisation,
                                   const JpegBlockPlace& first, const JpegBlockPlace& second);
TransformJpegPair jpeg_pair_transform();
TransformJpegPair portable_jpeg_pair_transform();

}  // namespace cantilever
