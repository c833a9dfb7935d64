#include "cantilever/data/image/text_painter.h"

#include <ft2build.h>
#include FT_FREETYPE_H

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstring>
#include <filesystem>

#include "cantilever/base/error.h"
#include "cantilever/base/log.h"

namespace cantilever {
namespace {

// Where Debian's font packages put them; the later ones fill in scripts that the first lacks.
constexpr std::array kFontFiles = {
    "/usr/share/fonts/truetype/dejavu/DejaVuSans.ttf",
    "/usr/share/fonts/truetype/noto/NotoSans-Regular.ttf",
    "/usr/share/fonts/truetype/liberation/LiberationSans-Regular.ttf",
    "/usr/share/fonts/truetype/liberation2/LiberationSans-Regular.ttf",
    "/usr/share/fonts/truetype/freefont/FreeSans.ttf",
    "/usr/share/fonts/opentype/noto/NotoSansCJK-Regular.ttc",
    "/usr/share/fonts/opentype/unifont/unifont.otf",
};

constexpr char32_t kReplacement = 0xFFFD;
constexpr char32_t kEllipsis = 0x2026;

bool is_blank(char32_t c) {
  return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

struct Utf8Form {
  uint8_t mask, lead;
  int following;
  char32_t least;  // shorter forms must be used below
};
constexpr std::array<Utf8Form, 4> kUtf8Forms = {
    {{0x80, 0x00, 0, 0}, {0xE0, 0xC0, 1, 0x80}, {0xF0, 0xE0, 2, 0x800}, {0xF8, 0xF0, 3, 0x10000}}};

// One character from `at` on, which moves past it.
char32_t next_character(std::string_view text, size_t& at) {
  const auto lead = static_cast<uint8_t>(text[at]);
  ++at;
  for (const Utf8Form& form : kUtf8Forms) {
    if ((lead & form.mask) != form.lead) continue;
    auto character = static_cast<char32_t>(lead & ~form.mask & 0xFF);
    size_t end = at;
    for (int i = 0; i < form.following; ++i, ++end) {
      if (end >= text.size() || (static_cast<uint8_t>(text[end]) & 0xC0) != 0x80) {
        return kReplacement;
      }
      character = character << 6U | (static_cast<uint8_t>(text[end]) & 0x3FU);
    }
    const bool is_surrogate = character >= 0xD800 && character <= 0xDFFF;
    if (character < form.least || character > 0x10FFFF || is_surrogate) return kReplacement;
    at = end;
    return character;
  }
  return kReplacement;
}

}  // namespace

std::u32string decode_utf8(std::string_view text) {
  std::u32string characters;
  for (size_t at = 0; at < text.size();) characters += next_character(text, at);
  return characters;
}

struct TextPainter::Fonts {
  FT_Library library = nullptr;
  std::vector<FT_Face> faces;

  ~Fonts() {
    for (FT_Face face : faces) FT_Done_Face(face);
    if (library != nullptr) FT_Done_FreeType(library);
  }
};

TextPainter::TextPainter() : fonts_(std::make_unique<Fonts>()) {
  if (FT_Init_FreeType(&fonts_->library) != 0) fonts_->library = nullptr;
  for (const char* file : kFontFiles) {
    std::error_code ignored;
    if (fonts_->library == nullptr || !std::filesystem::exists(file, ignored)) continue;
    FT_Face face = nullptr;
    if (FT_New_Face(fonts_->library, file, 0, &face) == 0) fonts_->faces.push_back(face);
  }
  if (!has_font()) {
    warn_once("text_painter.no_font",
              concat("no font file found (", kFontFiles[0],
                     " and other usual places): pictures are drawn without text; install "
                     "fonts-dejavu-core"));
  }
}

TextPainter::~TextPainter() = default;

bool TextPainter::has_font() const {
  return !fonts_->faces.empty();
}

Glyph TextPainter::glyph(char32_t character, int pixel_size) {
  if (!has_font()) return {};
  FT_Face chosen = fonts_->faces.front();
  for (FT_Face face : fonts_->faces) {
    if (FT_Get_Char_Index(face, character) != 0) {
      chosen = face;
      break;
    }
  }
  if (FT_Set_Pixel_Sizes(chosen, 0, static_cast<FT_UInt>(pixel_size)) != 0 ||
      FT_Load_Char(chosen, character, FT_LOAD_RENDER) != 0) {
    return {};
  }
  const FT_GlyphSlot slot = chosen->glyph;
  Glyph glyph;
  glyph.advance = static_cast<int>(slot->advance.x >> 6);
  if (slot->bitmap.pixel_mode != FT_PIXEL_MODE_GRAY) return glyph;
  glyph.width = static_cast<int>(slot->bitmap.width);
  glyph.height = static_cast<int>(slot->bitmap.rows);
  glyph.left = slot->bitmap_left;
  glyph.top = slot->bitmap_top;
  for (int y = 0; y < glyph.height; ++y) {
    const uint8_t* row = slot->bitmap.buffer + static_cast<ptrdiff_t>(y) * slot->bitmap.pitch;
    glyph.coverage.insert(glyph.coverage.end(), row, row + glyph.width);
  }
  return glyph;
}

int TextPainter::width(std::u32string_view text, int pixel_size) {
  int width = 0;
  for (const char32_t character : text) width += glyph(character, pixel_size).advance;
  return width;
}

// The number of characters that fit; at least 1, so that every line makes progress.
size_t TextPainter::fitting_prefix(std::u32string_view text, int pixel_size, int width) {
  int used = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    used += glyph(text[i], pixel_size).advance;
    if (used > width) return std::max<size_t>(i, 1);
  }
  return text.size();
}

std::vector<std::u32string> TextPainter::wrap(std::u32string_view text, int pixel_size, int width,
                                              int lines) {
  std::vector<std::u32string> wrapped;
  while (true) {
    while (!text.empty() && is_blank(text.front())) text.remove_prefix(1);
    if (text.empty() || std::ssize(wrapped) >= lines) return wrapped;
    size_t length = fitting_prefix(text, pixel_size, width);
    const bool is_last = std::ssize(wrapped) + 1 == lines;
    if (length < text.size() && is_last) {
      const int room = width - glyph(kEllipsis, pixel_size).advance;
      length = fitting_prefix(text, pixel_size, room);
      wrapped.emplace_back(text.substr(0, length));
      wrapped.back() += kEllipsis;
      return wrapped;
    }
    if (length < text.size() && !is_blank(text[length])) {
      size_t blank = length;
      while (blank > 0 && !is_blank(text[blank - 1])) --blank;
      if (blank > 0) length = blank;
    }
    wrapped.emplace_back(text.substr(0, length));
    text.remove_prefix(length);
  }
}

}  // namespace cantilever
