#pragma once

#include <cstddef>
#include <span>

#include "cantilever/data/image/decode.h"

namespace cantilever {

// The largest picture of a Windows icon, of several the one with fewest bits as Pillow chooses. Its
// mask is left out, as alpha is. Throws Error.
DecodedImage decode_ico(std::span<const std::byte> encoded, const DecodeOptions& options);

}  // namespace cantilever
