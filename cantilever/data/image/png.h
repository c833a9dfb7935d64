#pragma once

#include <cstddef>
#include <span>

#include "cantilever/data/image/decode.h"

namespace cantilever {

// Format, mode, orientation and pixels (of an animation the first picture); the orientation is not
// applied. Throws Error.
DecodedImage decode_png(std::span<const std::byte> encoded, const DecodeOptions& options);

}  // namespace cantilever
