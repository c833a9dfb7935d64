#include "cantilever/data/image/planes.h"

#include <cstdlib>

#include "cantilever/base/error.h"

namespace cantilever {

void Planes::Free::operator()(uint8_t* bytes) const {
  std::free(bytes);
}

Planes::Planes(int width, int height) : width_(width), height_(height) {
  const size_t pixels = static_cast<size_t>(width) * static_cast<size_t>(height);
  samples_.reset(static_cast<uint8_t*>(std::calloc(pixels, 4)));
  CANTILEVER_CHECK(samples_ != nullptr, "no memory for a picture of ", width, " x ", height,
                   " pixels");
}

int Planes::bands(std::string_view mode) {
  if (mode == "RGBA" || mode == "CMYK") return 4;
  if (mode == "RGB" || mode == "YCbCr" || mode == "LAB") return 3;
  return mode == "LA" || mode == "La" || mode == "PA" ? 2 : 1;
}

int Planes::band_of(std::string_view mode, std::string_view letter) {
  if (mode != "RGB" && mode != "RGBA" && mode != "CMYK") return -1;
  const size_t at = mode.find(letter);
  return at == std::string_view::npos ? -1 : static_cast<int>(at);
}

void Planes::write(int band, size_t at, const uint8_t* samples, size_t step, size_t count) {
  uint8_t* to = samples_.get() + at * 4 + band;
  for (size_t i = 0; i < count; ++i, to += 4, samples += step) *to = *samples;
}

void Planes::to_rgb(std::string_view mode, bool premultiplied, const RgbPalette& palette,
                    std::vector<uint8_t>& pixels) const {
  std::string_view raw_mode = mode;
  if (mode == "RGB") raw_mode = "RGBX";
  if (premultiplied) raw_mode = "RGBa";
  if (mode == "LA" || mode == "PA") raw_mode = "planes";
  const RawLayout* layout = find_raw_layout(mode, raw_mode);
  CANTILEVER_CHECK(layout != nullptr, "samples of kind ", mode, " are not turned into RGB");
  const auto row = static_cast<size_t>(width_);
  pixels.resize(row * static_cast<size_t>(height_) * 3);
  for (size_t y = 0; y < static_cast<size_t>(height_); ++y) {
    layout->to_rgb(samples_.get() + y * row * 4, width_, palette, pixels.data() + y * row * 3);
  }
}

}  // namespace cantilever
