#include "cantilever/data/image/canvas.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdlib>
#include <utility>

#include "cantilever/base/error.h"
#include "cantilever/data/image/resample.h"
#include "cantilever/data/image/text_painter.h"

namespace cantilever {
namespace {

Box cut_to(const Box& box, int width, int height) {
  const int64_t left = std::clamp(box.x, 0, width);
  const int64_t top = std::clamp(box.y, 0, height);
  const int64_t right = std::clamp<int64_t>(int64_t{box.x} + box.width, left, width);
  const int64_t bottom = std::clamp<int64_t>(int64_t{box.y} + box.height, top, height);
  return {static_cast<int>(left), static_cast<int>(top), static_cast<int>(right - left),
          static_cast<int>(bottom - top)};
}

void set_pixel(uint8_t* pixel, Color color) {
  pixel[0] = color.red;
  pixel[1] = color.green;
  pixel[2] = color.blue;
}

uint8_t blend(uint8_t below, uint8_t above, int coverage) {
  return static_cast<uint8_t>((below * (255 - coverage) + above * coverage + 127) / 255);
}

// Where `image` goes when it fills `box` in one direction.
Box fitted_box(const ImageView& image, const Box& box) {
  const double scale = std::min(static_cast<double>(box.width) / image.width,
                                static_cast<double>(box.height) / image.height);
  const int width = std::clamp(static_cast<int>(std::lround(image.width * scale)), 1, box.width);
  const int height = std::clamp(static_cast<int>(std::lround(image.height * scale)), 1, box.height);
  return {box.x + (box.width - width) / 2, box.y + (box.height - height) / 2, width, height};
}

}  // namespace

Canvas::Canvas(int width, int height, Color background) : width_(width), height_(height) {
  constexpr int64_t kMaxPixels = int64_t{1} << 28;
  CANTILEVER_CHECK(width > 0 && height > 0 && int64_t{width} * height <= kMaxPixels, "a canvas of ",
                   width, " x ", height, " pixels cannot be drawn; at most ", kMaxPixels,
                   " pixels can");
  pixels_.resize(static_cast<size_t>(width) * static_cast<size_t>(height) * 3);
  fill_rectangle({0, 0, width, height}, background);
}

Canvas::~Canvas() = default;
Canvas::Canvas(Canvas&& other) noexcept = default;
Canvas& Canvas::operator=(Canvas&& other) noexcept = default;

void Canvas::fill_rectangle(const Box& box, Color color) {
  const Box inside = cut_to(box, width_, height_);
  for (int y = inside.y; y < inside.y + inside.height; ++y) {
    uint8_t* row = pixels_.data() + (static_cast<ptrdiff_t>(y) * width_ + inside.x) * 3;
    for (int x = 0; x < inside.width; ++x, row += 3) set_pixel(row, color);
  }
}

void Canvas::draw_rectangle(const Box& box, Color color, int thickness) {
  const int pen = std::min({thickness, box.width, box.height});
  fill_rectangle({box.x, box.y, box.width, pen}, color);
  fill_rectangle({box.x, box.y + box.height - pen, box.width, pen}, color);
  fill_rectangle({box.x, box.y, pen, box.height}, color);
  fill_rectangle({box.x + box.width - pen, box.y, pen, box.height}, color);
}

void Canvas::draw_line(int x0, int y0, int x1, int y1, Color color, int thickness) {
  const int steps = std::max({std::abs(x1 - x0), std::abs(y1 - y0), 1});
  for (int i = 0; i <= steps; ++i) {
    const double part = static_cast<double>(i) / steps;
    const int x = x0 + static_cast<int>(std::lround((x1 - x0) * part));
    const int y = y0 + static_cast<int>(std::lround((y1 - y0) * part));
    fill_rectangle({x - thickness / 2, y - thickness / 2, thickness, thickness}, color);
  }
}

Box Canvas::paste_fitted(const ImageView& image, const Box& box) {
  CANTILEVER_CHECK(image.width > 0 && image.height > 0, "a picture of ", image.width, " x ",
                   image.height, " pixels cannot be drawn");
  CANTILEVER_ASSERT(box.width > 0 && box.height > 0 && box.x >= 0 && box.y >= 0 &&
                    box.x + box.width <= width_ && box.y + box.height <= height_);
  const Box to = fitted_box(image, box);
  const std::vector<uint8_t> resized = resize_levels(image, to.width, to.height);
  const auto plane = static_cast<ptrdiff_t>(to.width) * to.height;
  for (int y = 0; y < to.height; ++y) {
    const uint8_t* from = resized.data() + static_cast<ptrdiff_t>(y) * to.width;
    uint8_t* out = pixels_.data() + (static_cast<ptrdiff_t>(to.y + y) * width_ + to.x) * 3;
    for (int x = 0; x < to.width; ++x, out += 3) {
      for (int c = 0; c < 3; ++c) out[c] = from[c * plane + x];
    }
  }
  return to;
}

int Canvas::draw_text(std::string_view text, const Box& box, int pixel_size, Color color) {
  if (!text_) text_ = std::make_unique<TextPainter>();
  if (!text_->has_font() || pixel_size <= 0) return 0;
  const int line_height = pixel_size + pixel_size / 3;
  std::u32string characters = decode_utf8(text);
  // Control characters, line ends among them, have no glyph.
  std::replace_if(characters.begin(), characters.end(), [](char32_t c) { return c < U' '; }, U' ');
  const auto lines = text_->wrap(characters, pixel_size, box.width, box.height / line_height);
  int base = box.y + pixel_size;
  for (const std::u32string& line : lines) {
    int pen = box.x;
    for (const char32_t character : line) {
      const Glyph glyph = text_->glyph(character, pixel_size);
      const int left = pen + glyph.left;
      const int top = base - glyph.top;
      const Box inside = cut_to({left, top, glyph.width, glyph.height}, width_, height_);
      for (int y = inside.y; y < inside.y + inside.height; ++y) {
        for (int x = inside.x; x < inside.x + inside.width; ++x) {
          const auto at = static_cast<size_t>(y - top) * static_cast<size_t>(glyph.width) +
                          static_cast<size_t>(x - left);
          uint8_t* pixel = pixels_.data() + (static_cast<ptrdiff_t>(y) * width_ + x) * 3;
          const int coverage = glyph.coverage[at];
          set_pixel(pixel,
                    {blend(pixel[0], color.red, coverage), blend(pixel[1], color.green, coverage),
                     blend(pixel[2], color.blue, coverage)});
        }
      }
      pen += glyph.advance;
    }
    base += line_height;
  }
  return static_cast<int>(lines.size());
}

}  // namespace cantilever
