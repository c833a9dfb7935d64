#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/data/image/encoders.h"
#include "tests/data/image/support.h"

namespace cantilever::test {
namespace {

using std::string_view_literals::operator""sv;
using testing::ElementsAre;
using testing::HasSubstr;

using Pixels = std::vector<uint8_t>;

Pixels decoded(const PngBuilder& png) {
  return decode_image(png.bytes()).pixels;
}

// One row of grey samples, each as three equal bytes.
Pixels grey(std::initializer_list<uint8_t> values) {
  Pixels pixels;
  for (const uint8_t value : values) pixels.insert(pixels.end(), 3, value);
  return pixels;
}

TEST(PngDecode, GreyOfEveryDepth) {
  EXPECT_EQ(decoded(PngBuilder(4, 1, 1, 0).data("\0\xA0"sv).end()), grey({255, 0, 255, 0}));
  EXPECT_EQ(decoded(PngBuilder(4, 1, 2, 0).data("\0\x1B"sv).end()), grey({0, 85, 170, 255}));
  EXPECT_EQ(decoded(PngBuilder(3, 1, 4, 0).data("\0\x0F\x80"sv).end()), grey({0, 255, 136}));
  EXPECT_EQ(decoded(PngBuilder(2, 1, 8, 0).data("\0\x07\xF0"sv).end()), grey({7, 240}));
}

// Pillow reads mode I;16 and clips it; 255 and all above are white.
TEST(PngDecode, Grey16IsClippedAndNotScaled) {
  const PngBuilder png = PngBuilder(4, 1, 16, 0).data("\0\x00\x01\x00\xC8\x01\x00\xFF\xFF"sv).end();
  EXPECT_EQ(decoded(png), grey({1, 200, 255, 255}));
  EXPECT_EQ(decode_image(png.bytes()).mode, "I;16");
}

TEST(PngDecode, AlphaIsDroppedNotBlended) {
  EXPECT_THAT(decoded(PngBuilder(1, 1, 8, 6).data("\0\x10\x20\x30\0"sv).end()),
              ElementsAre(0x10, 0x20, 0x30));
  EXPECT_EQ(decoded(PngBuilder(1, 1, 8, 4).data("\0\x42\0"sv).end()), grey({0x42}));
}

TEST(PngDecode, SixteenBitColourKeepsTheHighByte) {
  EXPECT_THAT(decoded(PngBuilder(1, 1, 16, 2).data("\0\x10\xFF\x20\xFF\x30\xFF"sv).end()),
              ElementsAre(0x10, 0x20, 0x30));
  EXPECT_THAT(decoded(PngBuilder(1, 1, 16, 6).data("\0\x10\xFF\x20\xFF\x30\xFF\0\0"sv).end()),
              ElementsAre(0x10, 0x20, 0x30));
  EXPECT_EQ(decoded(PngBuilder(1, 1, 16, 4).data("\0\x42\xFF\0\0"sv).end()), grey({0x42}));
}

TEST(PngDecode, PaletteWithTransparencyGivesColours) {
  const auto build = [](std::string_view transparency) {
    PngBuilder png(3, 1, 2, 3);
    png.chunk("PLTE", "\x09\x08\x07\x06\x05\x04"sv);
    if (!transparency.empty()) png.chunk("tRNS", transparency);
    return png.data("\0\x18"sv).end();  // indices 0, 1, 2; the palette has two colours
  };
  const Pixels expected = {9, 8, 7, 6, 5, 4, 0, 0, 0};
  EXPECT_EQ(decoded(build("")), expected);
  EXPECT_EQ(decoded(build("\0"sv)), expected);
  EXPECT_EQ(decoded(build("\x80\0\xFF\0"sv)), expected);
}

TEST(PngDecode, PaletteMissingOrTooLong) {
  EXPECT_EQ(decoded(PngBuilder(2, 1, 8, 3).data("\0\x01\xFF"sv).end()), grey({0, 0}));
  const std::string long_palette(257 * 3, 'x');
  const Bytes png = PngBuilder(1, 1, 8, 3).chunk("PLTE", long_palette).data("\0\0"sv).end().bytes();
  EXPECT_THAT(decode_error(png), HasSubstr("a palette of 257 colours"));
}

// Rows 1 to 4 carry one filter each; undone, every row is 10 20 30.
TEST(PngDecode, UndoesEveryFilter) {
  const std::string rows(
      "\0\x0A\x14\x1E\x0A\x14\x1E"
      "\1\x0A\x14\x1E\0\0\0"
      "\2\0\0\0\0\0\0"
      "\3\x05\x0A\x0F\0\0\0"
      "\4\0\0\0\0\0\0"sv);
  const Pixels pixels = decoded(PngBuilder(2, 5, 8, 2).data(rows).end());
  ASSERT_EQ(pixels.size(), 30U);
  for (size_t i = 0; i < 30; i += 3) {
    EXPECT_THAT((Pixels{pixels[i], pixels[i + 1], pixels[i + 2]}), ElementsAre(10, 20, 30)) << i;
  }
}

// The seven passes over 5 x 3 pixels, each with the value of its raster position.
TEST(PngDecode, PlacesInterlacedPixels) {
  const std::string rows(
      "\0\x00"                      // pass 1: (0,0)
      "\0\x04"                      // pass 2: (4,0)
      "\0\x02"                      // pass 4: (2,0)
      "\0\x0A\x0C\x0E"              // pass 5: (0,2) (2,2) (4,2)
      "\0\x01\x03"                  // pass 6: (1,0) (3,0)
      "\0\x0B\x0D"                  // pass 6: (1,2) (3,2)
      "\0\x05\x06\x07\x08\x09"sv);  // pass 7: row 1
  const Pixels pixels = decoded(PngBuilder(5, 3, 8, 0, true).data(rows).end());
  EXPECT_EQ(pixels, grey({0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14}));
}

TEST(PngDecode, DataSplitIntoManyChunks) {
  const std::string packed = PngBuilder::deflated("\0\x01\x02\0\x03\x04"sv);
  PngBuilder png(2, 2, 8, 0);
  for (const char byte : packed) png.chunk("IDAT", {&byte, 1}).chunk("IDAT", "");
  EXPECT_EQ(decoded(png.end()), grey({1, 2, 3, 4}));
}

// Pillow leaves what the stream does not give at sample 0.
TEST(PngDecode, AStreamThatEndsEarlyLeavesBlackOrTheFirstColour) {
  EXPECT_EQ(decoded(PngBuilder(1, 3, 8, 0).data("\0\x05"sv).end()), grey({5, 0, 0}));
  const PngBuilder palette =
      PngBuilder(1, 3, 8, 3).chunk("PLTE", "\x09\x08\x07\x06\x05\x04"sv).data("\0\x01"sv).end();
  EXPECT_THAT(decoded(palette), ElementsAre(6, 5, 4, 9, 8, 7, 9, 8, 7));
}

TEST(PngDecode, TruncatedAndBrokenFilesAreNamed) {
  const Bytes whole = PngBuilder(3, 2, 8, 0).data("\0\x05\x06\x07\0\1\2\3"sv).end().bytes();
  EXPECT_EQ(decode_error(whole), "");
  const auto cut = [&](size_t length) { return std::span(whole.data(), length); };
  EXPECT_THAT(decode_error(cut(8)), HasSubstr("truncated"));
  EXPECT_THAT(decode_error(cut(20)), HasSubstr("truncated"));
  EXPECT_THAT(decode_error(cut(45)), HasSubstr("truncated"));
  Bytes wrong_sum = whole;
  wrong_sum[30] ^= std::byte{1};
  EXPECT_THAT(decode_error(wrong_sum), HasSubstr("check sum of chunk 'IHDR'"));
  const Bytes no_deflate = PngBuilder(1, 1, 8, 0).chunk("IDAT", "not deflate").end().bytes();
  EXPECT_THAT(decode_error(no_deflate), HasSubstr("broken picture data"));
  const Bytes bad_filter = PngBuilder(1, 1, 8, 0).data("\5\0"sv).end().bytes();
  EXPECT_THAT(decode_error(bad_filter), HasSubstr("filter 5"));
  EXPECT_THAT(decode_error(PngBuilder(1, 1, 8, 0).end().bytes()),
              HasSubstr("without picture data"));
  EXPECT_THAT(decode_error(PngBuilder(1, 1, 3, 0).data("\0\0"sv).end().bytes()),
              HasSubstr("bit depth"));
  EXPECT_THAT(decode_error(PngBuilder(0, 1, 8, 0).data("\0\0"sv).end().bytes()),
              HasSubstr("0 x 1 pixels"));
}

// Behind the picture data Pillow forgives a damaged chunk head, but not a chunk that is too short.
TEST(PngDecode, TheTrailer) {
  const auto with_data = [] { return PngBuilder(1, 1, 8, 0).data("\0\x05"sv); };
  EXPECT_EQ(decode_error(with_data().bytes()), "");
  EXPECT_EQ(decode_error(with_data().raw("\0\0\0\7????"sv).bytes()), "");
  EXPECT_THAT(decode_error(with_data().raw("\0\0\0\7tEXtab"sv).bytes()), HasSubstr("truncated"));
  EXPECT_THAT(decode_error(with_data().chunk("pHYs", "short").end().bytes()), HasSubstr("pHYs"));
}

TEST(PngDecode, HugeSizesAreRefusedBeforeAnythingIsAllocated) {
  const Bytes beyond = PngBuilder(50000, 50000, 8, 2).data("\0"sv).end().bytes();
  EXPECT_THAT(decode_error(beyond), HasSubstr("50000 x 50000 pixels, more than the limit"));
  const Bytes below = PngBuilder(13000, 13000, 8, 2, true).data("\0"sv).end().bytes();
  EXPECT_THAT(decode_error(below), HasSubstr("cannot hold"));
  const Bytes largest = PngBuilder(0xFFFFFFFF, 0xFFFFFFFF, 8, 2).data("\0"sv).end().bytes();
  EXPECT_THAT(decode_error(largest), HasSubstr("more than the limit"));
  const Bytes small = PngBuilder(20, 20, 8, 0).data(std::string(420, '\0')).end().bytes();
  EXPECT_EQ(decode_error(small, {.max_pixels = 400}), "");
  EXPECT_THAT(decode_error(small, {.max_pixels = 399}), HasSubstr("limit of 399"));
}

TEST(PngDecode, TextThatUnpacksToTooMuchIsRefused) {
  std::string text("Comment\0\0"sv);
  text += PngBuilder::deflated(std::string((size_t{1} << 20U) + 1, 'a'));
  const Bytes png = PngBuilder(1, 1, 8, 0).chunk("zTXt", text).data("\0\0"sv).end().bytes();
  EXPECT_THAT(decode_error(png), HasSubstr("unpacks to more than"));
}

TEST(PngDecode, FirstFrameOfAnAnimation) {
  const std::string control = big_endian_32(2) + big_endian_32(0);
  const auto frame = [](uint32_t number, uint32_t width, uint32_t left) {
    return big_endian_32(number) + big_endian_32(width) + big_endian_32(1) + big_endian_32(left) +
           big_endian_32(0) + std::string(6, '\0');
  };
  const auto build = [&](const std::string& first) {
    return PngBuilder(3, 1, 8, 0).chunk("acTL", control).chunk("fcTL", first);
  };
  EXPECT_EQ(decoded(build(frame(0, 2, 1)).data("\0\x05\x06"sv).end()), grey({0, 5, 6}));
  EXPECT_THAT(decode_error(build(frame(0, 2, 2)).data("\0\x05\x06"sv).end().bytes()),
              HasSubstr("out of the picture"));
  EXPECT_THAT(decode_error(build(frame(4, 2, 1)).data("\0\x05\x06"sv).end().bytes()),
              HasSubstr("out of order"));
  EXPECT_THAT(decode_error(build(frame(0, 0, 1)).data("\0\x05\x06"sv).end().bytes()),
              HasSubstr("first frame is empty"));
}

TEST(PngDecode, ReadsOrientationWhereverItStands) {
  const auto build = [](std::string_view name, std::string_view body, bool behind_data) {
    PngBuilder png(2, 1, 8, 0);
    if (!behind_data) png.chunk(name, body);
    png.data("\0\x01\x02"sv);
    if (behind_data) png.chunk(name, body);
    return decode_image(png.end().bytes()).exif_orientation;
  };
  const std::string exif = exif_block(6).substr(6);
  EXPECT_EQ(build("eXIf", exif, false), 6);
  EXPECT_EQ(build("eXIf", exif, true), 6);
  EXPECT_EQ(build("eXIf", "MM", false), 1);
  std::string hex = "\nexif\n      32\n";
  for (const char c : exif) {
    hex += "0123456789abcdef"[static_cast<unsigned char>(c) >> 4U];
    hex += "0123456789abcdef"[static_cast<unsigned char>(c) & 15U];
  }
  std::string profile("Raw profile type exif\0"sv);
  EXPECT_EQ(build("tEXt", profile + hex, false), 6);
  EXPECT_EQ(build("zTXt", profile + std::string(1, '\0') + PngBuilder::deflated(hex), false), 6);
  EXPECT_EQ(build("iTXt", "XML:com.adobe.xmp\0\0\0\0\0<tiff:Orientation>8<"sv, true), 8);
}

}  // namespace
}  // namespace cantilever::test
