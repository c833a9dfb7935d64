#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "cantilever/data/image/decode.h"

namespace cantilever {

// The orientation tag (274) of the first directory of an EXIF block: 1..8 (1 where its value says
// nothing), or 0 when the block has none or is broken (never throws). One or two leading "Exif\0\0"
// are skipped. As Pillow's Image.getexif: EXIF 2.32 section 4.6.4, TIFF 6.0 section 2.
int exif_orientation(std::string_view exif);

// `tiff:Orientation` of an XMP packet, 1..8, or 0.
int xmp_orientation(std::string_view xmp);

// Turns and flips the pixels so that orientation 1 results, as PIL.ImageOps.exif_transpose does.
void apply_orientation(int orientation, DecodedImage& image);

}  // namespace cantilever
