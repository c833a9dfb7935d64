#include "cantilever/data/image/decode.h"

#include "cantilever/base/error.h"
#include "cantilever/data/image/bmp.h"
#include "cantilever/data/image/exif.h"
#include "cantilever/data/image/gif.h"
#include "cantilever/data/image/ico.h"
#include "cantilever/data/image/jpeg.h"
#include "cantilever/data/image/limits.h"
#include "cantilever/data/image/png.h"
#include "cantilever/data/image/ppm.h"
#include "cantilever/data/image/sniff.h"
#include "cantilever/data/image/tiff.h"
#include "cantilever/data/image/webp.h"

namespace cantilever {
namespace {

DecodedImage decode_by_format(std::span<const std::byte> encoded, const DecodeOptions& options) {
  switch (sniff_picture_format(encoded)) {
    case PictureFormat::kJpeg:
      return decode_jpeg(encoded, options);
    case PictureFormat::kPng:
      return decode_png(encoded, options);
    case PictureFormat::kGif:
      return decode_gif(encoded, options);
    case PictureFormat::kWebp:
      return decode_webp(encoded, options);
    case PictureFormat::kTiff:
      return decode_tiff(encoded, options);
    case PictureFormat::kBmp:
      return decode_bmp(encoded, options);
    case PictureFormat::kDib:
      return decode_dib(encoded, options);
    case PictureFormat::kIco:
      return decode_ico(encoded, options);
    case PictureFormat::kPpm:
      return decode_ppm(encoded, options);
    case PictureFormat::kOther:
      break;
  }
  throw_error(concat("not a picture that can be read: it looks like ",
                     describe_foreign_bytes(encoded), "; ", kFormatsThatAreRead,
                     ", convert it to one of them"));
}

}  // namespace

void check_picture_size(const char* format, int64_t width, int64_t height,
                        const DecodeOptions& options) {
  // The largest side keeps every byte offset of a row and every index within an int.
  constexpr int64_t kMaxSide = (int64_t{1} << 28) - 1;
  CANTILEVER_CHECK(width > 0 && height > 0, format, ": its header declares ", width, " x ", height,
                   " pixels, which is no picture");
  CANTILEVER_CHECK(width <= kMaxSide && height <= kMaxSide && width <= options.max_pixels / height,
                   format, ": its header declares ", width, " x ", height,
                   " pixels, more than the limit of ", options.max_pixels,
                   " pixels a picture (the file is damaged or meant to exhaust memory; for an "
                   "honest picture raise the limit with --max_image_pixels or shrink the picture)");
}

DecodedImage decode_image(std::span<const std::byte> encoded, const DecodeOptions& options) {
  DecodedImage image = decode_by_format(encoded, options);
  if (options.apply_exif_orientation) apply_orientation(image.exif_orientation, image);
  return image;
}

}  // namespace cantilever
