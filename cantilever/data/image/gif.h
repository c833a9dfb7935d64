#pragma once

#include <cstddef>
#include <span>

#include "cantilever/data/image/decode.h"

namespace cantilever {

// The first picture of a GIF on its screen, which is filled with the transparent colour or the
// first one of the palette, as Pillow does. Throws Error.
DecodedImage decode_gif(std::span<const std::byte> encoded, const DecodeOptions& options);

}  // namespace cantilever
