#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "cantilever/data/image/decode.h"

namespace cantilever {

struct Color {
  uint8_t red = 0;
  uint8_t green = 0;
  uint8_t blue = 0;

  bool operator==(const Color&) const = default;
};

// In pixels; x to the right, y down.
struct Box {
  int x = 0;
  int y = 0;
  int width = 0;
  int height = 0;
};

class TextPainter;

// A small RGB drawing surface. Whatever falls outside it is cut off.
class Canvas {
 public:
  // Error when a side is not positive or the whole is above 256 megapixels.
  Canvas(int width, int height, Color background);
  ~Canvas();
  Canvas(Canvas&& other) noexcept;
  Canvas& operator=(Canvas&& other) noexcept;

  int width() const { return width_; }
  int height() const { return height_; }
  ImageView view() const { return {pixels_.data(), width_, height_}; }

  void fill_rectangle(const Box& box, Color color);
  // A frame of `thickness` pixels that lies inside the box.
  void draw_rectangle(const Box& box, Color color, int thickness);
  // From end to end, both included; square pens.
  void draw_line(int x0, int y0, int x1, int y1, Color color, int thickness);

  // The whole picture, enlarged or reduced (antialiased bicubic) to fit, centred. Returns where it
  // went.
  Box paste_fitted(const ImageView& image, const Box& box);

  // UTF-8 in lines of `pixel_size` pixels, broken at blanks where the width ends (inside a word
  // when it alone is too wide), as many lines as fit; an ellipsis marks what was left out. Returns
  // the number of lines drawn. Without any font file nothing is drawn, and the log says so once.
  int draw_text(std::string_view text, const Box& box, int pixel_size, Color color);

 private:
  int width_;
  int height_;
  std::vector<uint8_t> pixels_;
  std::unique_ptr<TextPainter> text_;
};

struct ContactCell {
  DecodedImage image;  // an empty one leaves its square empty
  std::string label;
  bool highlight = false;  // framed in the highlight colour
};

struct ContactRow {
  std::string title;
  std::vector<ContactCell> cells;
};

struct ContactSheetOptions {
  int cell_size = 224;  // side of the square that a picture is fitted into
  int text_size = 14;   // pixels
  int margin = 12;      // around and between the cells
  Color background = {255, 255, 255};
  Color empty = {240, 240, 240};  // behind pictures that do not fill their square
  Color text = {20, 20, 20};
  Color highlight = {0, 150, 60};
};

// One strip a row: the title (up to two lines) over its pictures, a label of two lines under each.
Canvas draw_contact_sheet(const std::vector<ContactRow>& rows,
                          const ContactSheetOptions& options = {});

}  // namespace cantilever
