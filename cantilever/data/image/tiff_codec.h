#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "cantilever/data/image/decode.h"
#include "cantilever/data/image/tiff_layout.h"

namespace cantilever {

// Compressed strips or tiles of the directory at byte `directory` to `image.pixels`, with libtiff
// and the checks of Pillow's decoder around it. image.width and height are set. Throws Error.
void decode_compressed_tiff(std::span<const std::byte> encoded, uint64_t directory,
                            const TiffLayout& layout, DecodedImage& image);

}  // namespace cantilever
