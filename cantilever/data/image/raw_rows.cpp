#include "cantilever/data/image/raw_rows.h"

#include <algorithm>
#include <bit>
#include <cstring>

namespace cantilever {
namespace {

static_assert(std::endian::native == std::endian::little, "rows of libtiff are in native order");

constexpr uint8_t reversed_bits(unsigned byte) {
  unsigned result = 0;
  for (int i = 0; i < 8; ++i, byte >>= 1U) result = result << 1U | (byte & 1U);
  return static_cast<uint8_t>(result);
}

// Sample `i` of a row with `kDepth` bits a sample, the first one in the high bits.
template <int kDepth, bool kReversed>
unsigned packed_sample(const uint8_t* row, int i) {
  constexpr int kInByte = 8 / kDepth;
  const unsigned byte = kReversed ? reversed_bits(row[i / kInByte]) : row[i / kInByte];
  return byte >> (8 - kDepth * (i % kInByte + 1)) & ((1U << kDepth) - 1);
}

template <int kDepth, bool kInverted, bool kReversed>
void packed_grey(const uint8_t* row, int count, const RgbPalette&, uint8_t* rgb) {
  constexpr unsigned kScale = 255U / ((1U << kDepth) - 1);
  for (int i = 0; i < count; ++i, rgb += 3) {
    const unsigned value = packed_sample<kDepth, kReversed>(row, i) * kScale;
    std::memset(rgb, static_cast<int>(kInverted ? 255 - value : value), 3);
  }
}

template <int kDepth, bool kReversed = false>
void packed_index(const uint8_t* row, int count, const RgbPalette& palette, uint8_t* rgb) {
  for (int i = 0; i < count; ++i, rgb += 3) {
    std::memcpy(rgb, palette[packed_sample<kDepth, kReversed>(row, i)].data(), 3);
  }
}

template <int kSize>
void index_and_more(const uint8_t* row, int count, const RgbPalette& palette, uint8_t* rgb) {
  for (int i = 0; i < count; ++i, rgb += 3) std::memcpy(rgb, palette[row[kSize * i]].data(), 3);
}

// A byte a pixel of which every one but 0 is white.
void black_and_white(const uint8_t* row, int count, const RgbPalette&, uint8_t* rgb) {
  for (int i = 0; i < count; ++i, rgb += 3) std::memset(rgb, row[i] != 0 ? 255 : 0, 3);
}

// Pixels of kSize bytes, colours at fixed places in them.
template <int kSize, int kRed, int kGreen, int kBlue, bool kReversed = false>
void bytes(const uint8_t* row, int count, const RgbPalette&, uint8_t* rgb) {
  for (int i = 0; i < count; ++i, row += kSize, rgb += 3) {
    rgb[0] = kReversed ? reversed_bits(row[kRed]) : row[kRed];
    rgb[1] = kReversed ? reversed_bits(row[kGreen]) : row[kGreen];
    rgb[2] = kReversed ? reversed_bits(row[kBlue]) : row[kBlue];
  }
}

// RGB multiplied by alpha; samples kStep bytes apart, the byte that counts at kAt.
template <int kSize, int kStep, int kAt>
void premultiplied(const uint8_t* row, int count, const RgbPalette&, uint8_t* rgb) {
  for (int i = 0; i < count; ++i, row += kSize, rgb += 3) {
    const int alpha = row[3 * kStep + kAt];
    for (int c = 0; c < 3; ++c) {
      const int value = alpha == 0 ? 0 : row[c * kStep + kAt] * 255 / alpha;
      rgb[c] = static_cast<uint8_t>(std::min(value, 255));
    }
  }
}

// Blue in the low bits, kGreenBits of green, five of red.
template <int kGreenBits>
void sixteen_bit_colour(const uint8_t* row, int count, const RgbPalette&, uint8_t* rgb) {
  constexpr int kGreenMax = (1 << kGreenBits) - 1;
  for (int i = 0; i < count; ++i, row += 2, rgb += 3) {
    const int pixel = row[0] | row[1] << 8;
    rgb[0] = static_cast<uint8_t>((pixel >> (5 + kGreenBits) & 31) * 255 / 31);
    rgb[1] = static_cast<uint8_t>((pixel >> 5 & kGreenMax) * 255 / kGreenMax);
    rgb[2] = static_cast<uint8_t>((pixel & 31) * 255 / 31);
  }
}

// Pillow clips grey of more than eight bits and does not scale it.
void write_clipped(int64_t value, uint8_t* rgb) {
  std::memset(rgb, static_cast<int>(std::clamp<int64_t>(value, 0, 255)), 3);
}

template <class Number>
Number number_at(const uint8_t* bytes, bool big_endian) {
  std::array<uint8_t, sizeof(Number)> copy;
  std::memcpy(copy.data(), bytes, sizeof(Number));
  if (big_endian) std::reverse(copy.begin(), copy.end());
  return std::bit_cast<Number>(copy);
}

template <class Number, bool kBigEndian>
void wide_grey(const uint8_t* row, int count, const RgbPalette&, uint8_t* rgb) {
  for (int i = 0; i < count; ++i, row += sizeof(Number), rgb += 3) {
    write_clipped(number_at<Number>(row, kBigEndian), rgb);
  }
}

template <bool kBigEndian>
void float_grey(const uint8_t* row, int count, const RgbPalette&, uint8_t* rgb) {
  for (int i = 0; i < count; ++i, row += 4, rgb += 3) {
    const auto value = number_at<float>(row, kBigEndian);
    // Not a number is black.
    const int64_t clipped = value >= 255.0F ? 255 : value > 0.0F ? static_cast<int64_t>(value) : 0;
    write_clipped(clipped, rgb);
  }
}

void reversed_grey_16(const uint8_t* row, int count, const RgbPalette&, uint8_t* rgb) {
  for (int i = 0; i < count; ++i, row += 2, rgb += 3) {
    write_clipped(reversed_bits(row[0]) | reversed_bits(row[1]) << 8, rgb);
  }
}

void grey_12(const uint8_t* row, int count, const RgbPalette&, uint8_t* rgb) {
  for (int i = 0; i < count; ++i, rgb += 3) {
    const uint8_t* at = row + i / 2 * 3;
    write_clipped(i % 2 == 0 ? at[0] << 4 | at[1] >> 4 : (at[1] & 15) << 8 | at[2], rgb);
  }
}

// a * b / 255, rounded, as Pillow computes it without a division.
int multiply_255(int a, int b) {
  const int product = a * b + 128;
  return ((product >> 8) + product) >> 8;
}

template <int kSize, int kStep = 1, int kAt = 0>
void cmyk(const uint8_t* row, int count, const RgbPalette&, uint8_t* rgb) {
  for (int i = 0; i < count; ++i, row += kSize, rgb += 3) {
    const int white = 255 - row[3 * kStep + kAt];
    for (int c = 0; c < 3; ++c) {
      const int value = white - multiply_255(row[c * kStep + kAt], white);
      rgb[c] = static_cast<uint8_t>(std::clamp(value, 0, 255));
    }
  }
}

// Of the JFIF formulas in six bits of fraction. Pillow's tables were made with a cast that rounds
// negative numbers towards zero.
constexpr int ycc_part(double factor, int chroma) {
  return static_cast<int>(factor * 64 * (chroma - 128) + 0.5);
}

void ycbcr(const uint8_t* row, int count, const RgbPalette&, uint8_t* rgb) {
  for (int i = 0; i < count; ++i, row += 3, rgb += 3) {
    const int luma = row[0];
    const int green = ycc_part(-0.34414, row[1]) + ycc_part(-0.71414, row[2]);
    rgb[0] = static_cast<uint8_t>(std::clamp(luma + (ycc_part(1.402, row[2]) >> 6), 0, 255));
    rgb[1] = static_cast<uint8_t>(std::clamp(luma + (green >> 6), 0, 255));
    rgb[2] = static_cast<uint8_t>(std::clamp(luma + (ycc_part(1.772, row[1]) >> 6), 0, 255));
  }
}

constexpr std::array kLayouts = {
    RawLayout{"1", "1", 1, packed_grey<1, false, false>},
    RawLayout{"1", "1;I", 1, packed_grey<1, true, false>},
    RawLayout{"1", "1;R", 1, packed_grey<1, false, true>},
    RawLayout{"1", "1;IR", 1, packed_grey<1, true, true>},
    RawLayout{"1", "L", 8, black_and_white},
    RawLayout{"L", "L", 8, bytes<1, 0, 0, 0>},
    RawLayout{"L", "L;I", 8, packed_grey<8, true, false>},
    RawLayout{"L", "L;R", 8, bytes<1, 0, 0, 0, true>},
    RawLayout{"L", "LX", 16, bytes<2, 0, 0, 0>},
    RawLayout{"L", "L;2", 2, packed_grey<2, false, false>},
    RawLayout{"L", "L;2I", 2, packed_grey<2, true, false>},
    RawLayout{"L", "L;2R", 2, packed_grey<2, false, true>},
    RawLayout{"L", "L;2IR", 2, packed_grey<2, true, true>},
    RawLayout{"L", "L;4", 4, packed_grey<4, false, false>},
    RawLayout{"L", "L;4I", 4, packed_grey<4, true, false>},
    RawLayout{"L", "L;4R", 4, packed_grey<4, false, true>},
    RawLayout{"L", "L;4IR", 4, packed_grey<4, true, true>},
    RawLayout{"LA", "LA", 16, bytes<2, 0, 0, 0>},
    RawLayout{"LA", "planes", 32, bytes<4, 0, 0, 0>},
    RawLayout{"P", "P", 8, packed_index<8>},
    RawLayout{"P", "L", 8, packed_index<8>},
    RawLayout{"P", "P;R", 8, packed_index<8, true>},
    RawLayout{"P", "PX", 16, index_and_more<2>},
    RawLayout{"P", "P;1", 1, packed_index<1>},
    RawLayout{"P", "P;2", 2, packed_index<2>},
    RawLayout{"P", "P;4", 4, packed_index<4>},
    RawLayout{"PA", "PA", 16, index_and_more<2>},
    RawLayout{"PA", "planes", 32, index_and_more<4>},
    RawLayout{"RGB", "RGB", 24, bytes<3, 0, 1, 2>},
    RawLayout{"RGB", "RGB;R", 24, bytes<3, 0, 1, 2, true>},
    RawLayout{"RGB", "RGBX", 32, bytes<4, 0, 1, 2>},
    RawLayout{"RGB", "RGBXX", 40, bytes<5, 0, 1, 2>},
    RawLayout{"RGB", "RGBXXX", 48, bytes<6, 0, 1, 2>},
    RawLayout{"RGB", "RGB;16L", 48, bytes<6, 1, 3, 5>},
    RawLayout{"RGB", "RGB;16N", 48, bytes<6, 1, 3, 5>},
    RawLayout{"RGB", "RGB;16B", 48, bytes<6, 0, 2, 4>},
    RawLayout{"RGB", "RGBX;16L", 64, bytes<8, 1, 3, 5>},
    RawLayout{"RGB", "RGBX;16N", 64, bytes<8, 1, 3, 5>},
    RawLayout{"RGB", "RGBX;16B", 64, bytes<8, 0, 2, 4>},
    RawLayout{"RGB", "BGR", 24, bytes<3, 2, 1, 0>},
    RawLayout{"RGB", "BGRX", 32, bytes<4, 2, 1, 0>},
    RawLayout{"RGB", "XBGR", 32, bytes<4, 3, 2, 1>},
    RawLayout{"RGB", "BGXR", 32, bytes<4, 3, 1, 0>},
    RawLayout{"RGB", "BGR;15", 16, sixteen_bit_colour<5>},
    RawLayout{"RGB", "BGR;16", 16, sixteen_bit_colour<6>},
    RawLayout{"RGBA", "RGBA", 32, bytes<4, 0, 1, 2>},
    RawLayout{"RGBA", "RGBAX", 40, bytes<5, 0, 1, 2>},
    RawLayout{"RGBA", "RGBAXX", 48, bytes<6, 0, 1, 2>},
    RawLayout{"RGBA", "RGBA;16L", 64, bytes<8, 1, 3, 5>},
    RawLayout{"RGBA", "RGBA;16N", 64, bytes<8, 1, 3, 5>},
    RawLayout{"RGBA", "RGBA;16B", 64, bytes<8, 0, 2, 4>},
    RawLayout{"RGBA", "RGBa", 32, premultiplied<4, 1, 0>},
    RawLayout{"RGBA", "RGBaX", 40, premultiplied<5, 1, 0>},
    RawLayout{"RGBA", "RGBaXX", 48, premultiplied<6, 1, 0>},
    RawLayout{"RGBA", "RGBa;16L", 64, premultiplied<8, 2, 1>},
    RawLayout{"RGBA", "RGBa;16N", 64, premultiplied<8, 2, 1>},
    RawLayout{"RGBA", "RGBa;16B", 64, premultiplied<8, 2, 0>},
    RawLayout{"RGBA", "BGRA", 32, bytes<4, 2, 1, 0>},
    RawLayout{"RGBA", "ABGR", 32, bytes<4, 3, 2, 1>},
    RawLayout{"RGBA", "BGAR", 32, bytes<4, 3, 1, 0>},
    RawLayout{"CMYK", "CMYK", 32, cmyk<4>},
    RawLayout{"CMYK", "CMYKX", 40, cmyk<5>},
    RawLayout{"CMYK", "CMYKXX", 48, cmyk<6>},
    RawLayout{"CMYK", "CMYK;16L", 64, cmyk<8, 2, 1>},
    RawLayout{"CMYK", "CMYK;16N", 64, cmyk<8, 2, 1>},
    RawLayout{"CMYK", "CMYK;16B", 64, cmyk<8, 2, 0>},
    RawLayout{"YCbCr", "YCbCr", 24, ycbcr},
    RawLayout{"I;16", "I;12", 12, grey_12},
    RawLayout{"I;16", "I;16", 16, wide_grey<uint16_t, false>},
    RawLayout{"I;16", "I;16N", 16, wide_grey<uint16_t, false>},
    RawLayout{"I;16", "I;16R", 16, reversed_grey_16},
    RawLayout{"I;16B", "I;16B", 16, wide_grey<uint16_t, true>},
    RawLayout{"I;16B", "I;16N", 16, wide_grey<uint16_t, false>},
    RawLayout{"I", "I", 32, wide_grey<int32_t, false>},
    RawLayout{"I", "I;16B", 16, wide_grey<uint16_t, true>},
    RawLayout{"I", "I;16S", 16, wide_grey<int16_t, false>},
    RawLayout{"I", "I;16BS", 16, wide_grey<int16_t, true>},
    RawLayout{"I", "I;32N", 32, wide_grey<int32_t, false>},
    RawLayout{"I", "I;32S", 32, wide_grey<int32_t, false>},
    RawLayout{"I", "I;32BS", 32, wide_grey<int32_t, true>},
    RawLayout{"F", "F", 32, float_grey<false>},
    RawLayout{"F", "F;32F", 32, float_grey<false>},
    RawLayout{"F", "F;32BF", 32, float_grey<true>},
};

}  // namespace

const RawLayout* find_raw_layout(std::string_view mode, std::string_view raw_mode) {
  for (const RawLayout& layout : kLayouts) {
    if (layout.mode == mode && layout.raw_mode == raw_mode) return &layout;
  }
  return nullptr;
}

std::array<uint8_t, 3> blank_pixel(std::string_view mode, const RgbPalette& palette) {
  constexpr std::array<uint8_t, 4> kZero = {};
  std::array<uint8_t, 3> pixel = {};
  if (mode == "P" || mode == "PA") pixel = palette[0];
  if (mode == "CMYK") cmyk<4>(kZero.data(), 1, palette, pixel.data());
  if (mode == "YCbCr") ycbcr(kZero.data(), 1, palette, pixel.data());
  return pixel;
}

void grow_pixels(std::vector<uint8_t>& pixels, size_t needed, size_t whole) {
  constexpr size_t kAtOnce = size_t{64} << 20U;
  if (needed <= pixels.size()) return;
  pixels.resize(std::min(whole, std::max({kAtOnce, pixels.size() * 2, needed})));
}

}  // namespace cantilever
