#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

#include "cantilever/data/image/decode.h"

namespace cantilever {

// What the marker segments before the first scan say. Views into the encoded bytes where one
// segment holds it all, so that reading a header allocates nothing.
struct JpegHeader {
  int width = 0;
  int height = 0;
  int components = 0;    // 1, 3 or 4
  std::string_view xmp;  // the last APP1 XMP packet
  std::string_view exif_segment;
  std::string joined_exif;  // where there are several

  // All APP1 EXIF segments joined, "Exif\0\0" of the first one included.
  std::string_view exif() const { return joined_exif.empty() ? exif_segment : joined_exif; }
  const char* mode() const { return components == 1 ? "L" : components == 3 ? "RGB" : "CMYK"; }
  int orientation() const;  // 1..8
};

// Reads the segments with the tolerance of Pillow 13 (junk between segments, padding) and its
// refusals (12 bits, a segment that is cut short, two components). Throws Error.
JpegHeader read_jpeg_header(std::span<const std::byte> encoded);

// Format, mode, orientation and pixels; the orientation is not applied. Throws Error.
DecodedImage decode_jpeg(std::span<const std::byte> encoded, const DecodeOptions& options);

}  // namespace cantilever
