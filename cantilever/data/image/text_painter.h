#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "cantilever/data/image/canvas.h"

namespace cantilever {

// Code points of UTF-8 text; each broken byte becomes U+FFFD.
std::u32string decode_utf8(std::string_view text);

// Coverage 0..255 of one glyph, [height, width], and where it stands.
struct Glyph {
  std::vector<uint8_t> coverage;
  int width = 0;
  int height = 0;
  int left = 0;  // from the pen to the left edge
  int top = 0;   // from the base line up to the upper edge
  int advance = 0;
};

// Glyphs of the sans-serif fonts found on this system: the first of a list of usual files that has
// the character.
class TextPainter {
 public:
  TextPainter();
  ~TextPainter();
  TextPainter(const TextPainter&) = delete;
  TextPainter& operator=(const TextPainter&) = delete;

  bool has_font() const;
  Glyph glyph(char32_t character, int pixel_size);
  int width(std::u32string_view text, int pixel_size);

  // Lines no wider than `width`, at most `lines` of them; the last one ends in an ellipsis when
  // text is left over.
  std::vector<std::u32string> wrap(std::u32string_view text, int pixel_size, int width, int lines);

 private:
  size_t fitting_prefix(std::u32string_view text, int pixel_size, int width);

  struct Fonts;
  std::unique_ptr<Fonts> fonts_;
};

}  // namespace cantilever
