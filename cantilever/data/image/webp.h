#pragma once

#include <cstddef>
#include <span>

#include "cantilever/data/image/decode.h"

namespace cantilever {

// Format, mode, orientation and pixels (of an animation the first picture on its black canvas); the
// orientation is not applied. Throws Error.
DecodedImage decode_webp(std::span<const std::byte> encoded, const DecodeOptions& options);

}  // namespace cantilever
