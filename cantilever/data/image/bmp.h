#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "cantilever/data/image/decode.h"

namespace cantilever {

// A Windows or OS/2 bitmap. Throws Error.
DecodedImage decode_bmp(std::span<const std::byte> encoded, const DecodeOptions& options);

// Where a bitmap without a file header (DIB) stands in `encoded`. In an icon half of its height is
// a mask, which is left out.
struct DibPlace {
  size_t at = 0;
  bool in_icon = false;
};
// `data_offset` is told where the picture data begins. Throws Error.
DecodedImage decode_dib(std::span<const std::byte> encoded, const DecodeOptions& options,
                        const DibPlace& place = {}, size_t* data_offset = nullptr);

}  // namespace cantilever
