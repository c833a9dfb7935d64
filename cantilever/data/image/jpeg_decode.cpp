#include <algorithm>

#include "cantilever/data/image/jpeg.h"
#include "cantilever/data/image/jpeg_reader.h"

namespace cantilever {

DecodedImage decode_jpeg(std::span<const std::byte> encoded, const DecodeOptions& options) {
  // Large pictures get their memory as rows arrive: a header alone costs nothing.
  constexpr size_t kAtOnce = size_t{64} << 20U;
  JpegReader reader;
  const JpegHeader& header = reader.open(encoded, options);
  DecodedImage image;
  image.format = "JPEG";
  image.mode = header.mode();
  image.width = header.width;
  image.height = header.height;
  image.exif_orientation = header.orientation();
  const size_t row_bytes = static_cast<size_t>(image.width) * 3;
  const size_t whole = row_bytes * static_cast<size_t>(image.height);
  for (int y = 0; y < image.height;) {
    const RowBlock block = reader.next_rows();
    y = block.first + block.count;
    const size_t needed = row_bytes * static_cast<size_t>(y);
    if (needed > image.pixels.size()) {
      image.pixels.resize(std::min(whole, std::max({kAtOnce, image.pixels.size() * 2, needed})));
    }
    for (int i = 0; i < block.count; ++i) {
      std::copy_n(block.pixels + i * block.stride, row_bytes,
                  image.pixels.data() + row_bytes * static_cast<size_t>(block.first + i));
    }
  }
  reader.finish();
  return image;
}

}  // namespace cantilever
