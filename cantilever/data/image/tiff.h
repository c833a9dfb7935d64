#pragma once

#include <cstddef>
#include <span>

#include "cantilever/data/image/decode.h"

namespace cantilever {

// The first page of a TIFF. Pillow turns it upright by its orientation when it loads it, asked or
// not; so it comes out upright here and with exif_orientation 1. Throws Error.
DecodedImage decode_tiff(std::span<const std::byte> encoded, const DecodeOptions& options);

}  // namespace cantilever
