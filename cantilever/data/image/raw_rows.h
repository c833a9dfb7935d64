#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

namespace cantilever {

// Entries that a file does not give are black.
using RgbPalette = std::array<std::array<uint8_t, 3>, 256>;

// How the pixels of a row lie in a BMP or TIFF and what colour they mean. Named as in Pillow: the
// mode is what the picture becomes in memory ("P"), the raw mode how it is stored ("P;4"). The last
// step of convert("RGB") is part of it.
struct RawLayout {
  std::string_view mode;
  std::string_view raw_mode;
  int bits;  // a pixel
  // Reads row_bytes(count) bytes, writes 3 * count.
  void (*to_rgb)(const uint8_t* row, int count, const RgbPalette& palette, uint8_t* rgb);

  int64_t row_bytes(int64_t count) const { return (count * bits + 7) / 8; }
};

// nullptr for a pair that Pillow does not read or cannot turn into RGB.
const RawLayout* find_raw_layout(std::string_view mode, std::string_view raw_mode);

// What Pillow shows where a file has no data: all samples zero, so white in CMYK.
std::array<uint8_t, 3> blank_pixel(std::string_view mode, const RgbPalette& palette);

// Makes `pixels` at least `needed` bytes long on its way to `whole`: a small picture at once, a
// large one as its rows arrive, so that a header alone costs no memory. New bytes are zero.
void grow_pixels(std::vector<uint8_t>& pixels, size_t needed, size_t whole);

}  // namespace cantilever
