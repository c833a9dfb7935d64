#include "cantilever/base/error.h"
#include "cantilever/data/image/decode.h"

namespace cantilever {

struct ImageDecoder::State {
  std::span<const std::byte> encoded;
  DecodeOptions options;
  DecodedImage image;
  ImageInfo info;
  ImageWindow window;
  int next_row = 0;
};

ImageDecoder::ImageDecoder() : state_(std::make_unique<State>()) {}
ImageDecoder::~ImageDecoder() = default;

const ImageInfo& ImageDecoder::open(std::span<const std::byte> encoded,
                                    const DecodeOptions& options) {
  state_->encoded = encoded;
  state_->image = decode_image(encoded, options);
  const DecodedImage& image = state_->image;
  state_->info = {image.width, image.height, image.format.c_str(), image.mode.c_str(),
                  image.exif_orientation};
  set_window({0, 0, image.width, image.height});
  return state_->info;
}

void ImageDecoder::set_window(const ImageWindow& window) {
  state_->window = window;
  state_->next_row = window.top;
}

RowBlock ImageDecoder::next_rows() {
  const ptrdiff_t stride = ptrdiff_t{3} * state_->image.width;
  const int first = state_->next_row;
  CANTILEVER_ASSERT(first < state_->window.bottom, "no rows are left");
  state_->next_row = state_->window.bottom;
  return {state_->image.pixels.data() + first * stride, stride, first,
          state_->window.bottom - first};
}

void ImageDecoder::finish() {}

int ImageDecoder::fast_rows() const {
  return 0;
}

}  // namespace cantilever
