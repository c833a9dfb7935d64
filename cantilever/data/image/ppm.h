#pragma once

#include <cstddef>
#include <span>

#include "cantilever/data/image/decode.h"

namespace cantilever {

// PBM, PGM, PPM, plain or binary (P1 to P6), and grey PFM (Pf). Throws Error.
DecodedImage decode_ppm(std::span<const std::byte> encoded, const DecodeOptions& options);

}  // namespace cantilever
