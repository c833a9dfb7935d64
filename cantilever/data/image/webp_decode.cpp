#include <webp/decode.h>
#include <webp/demux.h>

#include <algorithm>
#include <memory>
#include <string_view>

#include "cantilever/base/error.h"
#include "cantilever/data/image/exif.h"
#include "cantilever/data/image/limits.h"
#include "cantilever/data/image/webp.h"

namespace cantilever {
namespace {

struct DemuxerDeleter {
  void operator()(WebPDemuxer* demuxer) const { WebPDemuxDelete(demuxer); }
};
using Demuxer = std::unique_ptr<WebPDemuxer, DemuxerDeleter>;

struct Frame : WebPIterator {
  Frame() : WebPIterator() {}
  ~Frame() { WebPDemuxReleaseIterator(this); }
  Frame(const Frame&) = delete;
  Frame& operator=(const Frame&) = delete;
};

// Output that libwebp allocated; released without it, too.
struct Output : WebPDecoderConfig {
  Output() : WebPDecoderConfig() { ready = WebPInitDecoderConfig(this) != 0; }
  ~Output() { WebPFreeDecBuffer(&output); }
  Output(const Output&) = delete;
  Output& operator=(const Output&) = delete;

  bool ready = false;
};

// The first chunk of that name, empty when there is none.
std::string_view chunk(const Demuxer& demuxer, const char* name) {
  WebPChunkIterator iterator = {};
  std::string_view bytes;
  if (WebPDemuxGetChunk(demuxer.get(), name, 1, &iterator) != 0) {
    bytes = {reinterpret_cast<const char*>(iterator.chunk.bytes), iterator.chunk.size};
  }
  WebPDemuxReleaseChunkIterator(&iterator);
  return bytes;  // points into the file
}

const char* reason(VP8StatusCode status) {
  switch (status) {
    case VP8_STATUS_OUT_OF_MEMORY:
      return "no memory to decode it";
    case VP8_STATUS_NOT_ENOUGH_DATA:
    case VP8_STATUS_SUSPENDED:
      return "truncated picture data";
    case VP8_STATUS_UNSUPPORTED_FEATURE:
      return "its picture data has a feature that libwebp does not know";
    default:
      return "broken picture data";
  }
}

// Into memory of libwebp's, which the kernel backs as rows are written: a large picture that breaks
// at its first row has cost nothing.
void decode_frame(const Frame& frame, DecodedImage& image) {
  Output output;
  CANTILEVER_CHECK(output.ready, "WebP: libwebp is of another version than its headers");
  output.output.colorspace = MODE_RGB;
  const VP8StatusCode status = WebPDecode(frame.fragment.bytes, frame.fragment.size, &output);
  CANTILEVER_CHECK(status == VP8_STATUS_OK, "WebP: ", reason(status));
  const WebPDecBuffer& found = output.output;
  const size_t canvas_row = static_cast<size_t>(image.width) * 3;
  image.pixels.resize(canvas_row * static_cast<size_t>(image.height));
  CANTILEVER_CHECK(frame.x_offset >= 0 && frame.y_offset >= 0 &&
                       found.width <= image.width - frame.x_offset &&
                       found.height <= image.height - frame.y_offset,
                   "WebP: broken; its first picture lies outside the canvas");
  uint8_t* to = image.pixels.data() + static_cast<size_t>(frame.y_offset) * canvas_row +
                static_cast<size_t>(frame.x_offset) * 3;
  const size_t row = static_cast<size_t>(found.width) * 3;
  for (int y = 0; y < found.height; ++y, to += canvas_row) {
    std::copy_n(found.u.RGBA.rgba + ptrdiff_t{y} * found.u.RGBA.stride, row, to);
  }
}

// Before anything else looks at the file: Pillow says "RGB" or "RGBA" by this.
const char* stored_mode(const uint8_t* bytes, size_t size) {
  WebPBitstreamFeatures features = {};
  const bool known = WebPGetFeatures(bytes, size, &features) == VP8_STATUS_OK;
  return known && features.has_alpha == 0 ? "RGB" : "RGBA";
}

}  // namespace

DecodedImage decode_webp(std::span<const std::byte> encoded, const DecodeOptions& options) {
  const auto* bytes = reinterpret_cast<const uint8_t*>(encoded.data());
  const WebPData data = {bytes, encoded.size()};
  const Demuxer demuxer(WebPDemux(&data));
  CANTILEVER_CHECK(demuxer != nullptr, "WebP: truncated or broken; its chunks do not add up in ",
                   encoded.size(), " bytes");
  check_picture_size("WebP", WebPDemuxGetI(demuxer.get(), WEBP_FF_CANVAS_WIDTH),
                     WebPDemuxGetI(demuxer.get(), WEBP_FF_CANVAS_HEIGHT), options);
  DecodedImage image;
  image.format = "WEBP";
  image.mode = stored_mode(bytes, encoded.size());
  image.width = static_cast<int>(WebPDemuxGetI(demuxer.get(), WEBP_FF_CANVAS_WIDTH));
  image.height = static_cast<int>(WebPDemuxGetI(demuxer.get(), WEBP_FF_CANVAS_HEIGHT));
  const int from_exif = exif_orientation(chunk(demuxer, "EXIF"));
  const int orientation = from_exif != 0 ? from_exif : xmp_orientation(chunk(demuxer, "XMP "));
  image.exif_orientation = orientation == 0 ? 1 : orientation;
  Frame frame;
  CANTILEVER_CHECK(WebPDemuxGetFrame(demuxer.get(), 1, &frame) != 0, "WebP: it has no picture");
  decode_frame(frame, image);
  return image;
}

}  // namespace cantilever
