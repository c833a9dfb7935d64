#include "cantilever/base/error.h"
#include "cantilever/data/image/decode.h"
#include "cantilever/data/image/jpeg_reader.h"
#include "cantilever/data/image/sniff.h"

namespace cantilever {

// JPEG comes row by row. Every other format, and a picture that is to be turned, is decoded as a
// whole and given out as one block.
struct ImageDecoder::State {
  JpegReader jpeg;
  bool is_jpeg = false;
  DecodedImage image;  // where it is no JPEG
  ImageInfo info;
  ImageWindow window;
  int next_row = 0;

  void open_whole(std::span<const std::byte> encoded, const DecodeOptions& options) {
    is_jpeg = false;
    image = decode_image(encoded, options);
    info = {image.width, image.height, image.format.c_str(), image.mode.c_str(),
            image.exif_orientation};
  }
};

ImageDecoder::ImageDecoder() : state_(std::make_unique<State>()) {}
ImageDecoder::~ImageDecoder() = default;

const ImageInfo& ImageDecoder::open(std::span<const std::byte> encoded,
                                    const DecodeOptions& options) {
  State& state = *state_;
  state.is_jpeg = sniff_picture_format(encoded) == PictureFormat::kJpeg;
  if (state.is_jpeg) {
    const JpegHeader& header = state.jpeg.open(encoded, options);
    const int orientation = header.orientation();
    state.info = {header.width, header.height, "JPEG", header.mode(), orientation};
    if (options.apply_exif_orientation && orientation != 1) state.open_whole(encoded, options);
  } else {
    state.open_whole(encoded, options);
  }
  set_window({0, 0, state.info.width, state.info.height});
  return state.info;
}

void ImageDecoder::set_window(const ImageWindow& window) {
  state_->window = window;
  state_->next_row = window.top;
  if (state_->is_jpeg) state_->jpeg.set_window(window);
}

RowBlock ImageDecoder::next_rows() {
  State& state = *state_;
  if (state.is_jpeg) return state.jpeg.next_rows();
  const int first = state.next_row;
  CANTILEVER_ASSERT(first < state.window.bottom, "no rows are left");
  state.next_row = state.window.bottom;
  const ptrdiff_t stride = ptrdiff_t{3} * state.image.width;
  return {state.image.pixels.data() + first * stride, stride, first, state.window.bottom - first};
}

void ImageDecoder::finish() {
  if (state_->is_jpeg) state_->jpeg.finish();
}

int ImageDecoder::fast_rows() const {
  return state_->is_jpeg ? state_->jpeg.fast_rows() : 0;
}

}  // namespace cantilever
