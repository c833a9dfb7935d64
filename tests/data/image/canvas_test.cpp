#include "cantilever/data/image/canvas.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cantilever/data/image/png_writer.h"
#include "cantilever/data/image/text_painter.h"
#include "tests/data/image/support.h"
#include "tests/support/temporary_folder.h"

namespace cantilever::test {
namespace {

constexpr Color kWhite = {255, 255, 255};
constexpr Color kRed = {200, 0, 0};

Color pixel(const Canvas& canvas, int x, int y) {
  const uint8_t* at = canvas.view().pixels + (y * canvas.width() + x) * 3;
  return {at[0], at[1], at[2]};
}

int count_of(const Canvas& canvas, Color color) {
  int count = 0;
  for (int y = 0; y < canvas.height(); ++y) {
    for (int x = 0; x < canvas.width(); ++x) count += pixel(canvas, x, y) == color ? 1 : 0;
  }
  return count;
}

TEST(PngWriter, WhatIsWrittenIsReadBack) {
  for (const auto& [width, height] : {std::pair(1, 1), std::pair(7, 3), std::pair(130, 90)}) {
    const DecodedImage image = synthetic_picture(width, height);
    const DecodedImage back = decode_image(encode_png(image.view()));
    EXPECT_EQ(back.width, width);
    EXPECT_EQ(back.height, height);
    EXPECT_EQ(back.mode, "RGB");
    EXPECT_EQ(back.pixels, image.pixels);
  }
}

TEST(PngWriter, WritesAtomicallyAndNamesItsTroubles) {
  const TemporaryFolder folder;
  const DecodedImage image = synthetic_picture(9, 4);
  write_png(folder / "a.png", image.view());
  write_png(folder / "a.png", image.view());
  EXPECT_EQ(folder.entries(), 1U);
  EXPECT_GT(std::filesystem::file_size(folder / "a.png"), 60U);
  EXPECT_THROW(write_png(folder / "missing" / "a.png", image.view()), Error);
  EXPECT_THROW(encode_png({}), Error);
}

TEST(Canvas, ShapesAreCutAtTheEdges) {
  Canvas canvas(10, 8, kWhite);
  canvas.fill_rectangle({-5, -5, 7, 7}, kRed);
  EXPECT_EQ(count_of(canvas, kRed), 4);
  canvas.fill_rectangle({8, 6, 2147483647, 2147483647}, kRed);
  EXPECT_EQ(count_of(canvas, kRed), 8);
  canvas.fill_rectangle({100, 100, 5, 5}, kRed);
  canvas.fill_rectangle({4, 4, -2, 3}, kRed);
  EXPECT_EQ(count_of(canvas, kRed), 8);
}

TEST(Canvas, FramesAndLines) {
  Canvas canvas(10, 10, kWhite);
  canvas.draw_rectangle({1, 1, 6, 5}, kRed, 1);
  EXPECT_EQ(count_of(canvas, kRed), 6 * 5 - 4 * 3);
  Canvas lines(10, 10, kWhite);
  lines.draw_line(0, 0, 9, 9, kRed, 1);
  EXPECT_EQ(count_of(lines, kRed), 10);
  lines.draw_line(0, 3, 9, 3, kRed, 1);
  EXPECT_EQ(count_of(lines, kRed), 19);
}

TEST(Canvas, SizesAreChecked) {
  EXPECT_THROW(Canvas(0, 5, kWhite), Error);
  EXPECT_THROW(Canvas(1000000, 1000000, kWhite), Error);
}

TEST(Canvas, PicturesAreFittedAndCentred) {
  Canvas canvas(40, 30, kWhite);
  DecodedImage image = synthetic_picture(20, 10);
  std::fill(image.pixels.begin(), image.pixels.end(), uint8_t{7});
  const Box wide = canvas.paste_fitted(image.view(), {5, 5, 20, 20});
  EXPECT_EQ(wide.x, 5);
  EXPECT_EQ(wide.y, 10);
  EXPECT_EQ(wide.width, 20);
  EXPECT_EQ(wide.height, 10);
  EXPECT_EQ(count_of(canvas, {7, 7, 7}), 200);
  const Box small = canvas.paste_fitted(image.view(), {30, 0, 7, 30});
  EXPECT_EQ(small.width, 7);
  EXPECT_EQ(small.height, 4);
  const DecodedImage thin = synthetic_picture(1, 400);
  EXPECT_EQ(canvas.paste_fitted(thin.view(), {0, 0, 20, 20}).width, 1);
}

TEST(Text, Utf8IsDecodedAndDamageReplaced) {
  EXPECT_EQ(decode_utf8("a\xC3\xA9\xE2\x82\xAC\xF0\x9F\x98\x80"), U"a\u00e9\u20ac\U0001F600");
  EXPECT_EQ(decode_utf8("\xC3"), U"\uFFFD");
  EXPECT_EQ(decode_utf8("\xC0\x80z"), U"\uFFFD\uFFFDz");          // longer than need be
  EXPECT_EQ(decode_utf8("\xED\xA0\x80"), U"\uFFFD\uFFFD\uFFFD");  // a surrogate
  EXPECT_EQ(decode_utf8("\xFFok"), U"\uFFFDok");
}

TEST(Text, WrapsAtBlanksAndEndsWithAnEllipsis) {
  TextPainter painter;
  if (!painter.has_font()) GTEST_SKIP() << "no font is installed";
  const int width = painter.width(U"two words", 14);
  const auto lines = painter.wrap(U"  two words and\tmore of them", 14, width, 2);
  ASSERT_EQ(lines.size(), 2U);
  EXPECT_TRUE(lines[0].starts_with(U"two words"));
  EXPECT_EQ(lines[1].back(), char32_t{0x2026});
  EXPECT_LE(painter.width(lines[1], 14), width);
  // A word wider than the line is broken, one character a line at least.
  EXPECT_EQ(painter.wrap(U"abc", 14, 1, 9).size(), 3U);
  EXPECT_TRUE(painter.wrap(U"   ", 14, 100, 3).empty());
  EXPECT_TRUE(painter.wrap(U"abc", 14, 100, 0).empty());
}

TEST(Text, IsDrawnInsideItsBox) {
  Canvas canvas(200, 60, kWhite);
  const int lines = canvas.draw_text("A\xC3\xA9\nB \xF0\x9F\x98\x80 word word word",
                                     {10, 10, 90, 40}, 14, {0, 0, 0});
  if (lines == 0) GTEST_SKIP() << "no font is installed";
  EXPECT_EQ(lines, 2);
  EXPECT_LT(count_of(canvas, kWhite), 200 * 60 - 50);
  for (int x = 105; x < 200; ++x) {
    for (int y = 0; y < 60; ++y) ASSERT_EQ(pixel(canvas, x, y), kWhite) << x << ' ' << y;
  }
  canvas.draw_text("over the edge", {190, 50, 90, 40}, 14, {0, 0, 0});  // cut off, no overrun
}

TEST(ContactSheet, PicturesStandInTheirCells) {
  std::vector<ContactRow> rows(2);
  rows[0].title = "a query that is long enough to need more than a single line of text";
  for (int i = 0; i < 3; ++i) {
    DecodedImage image = synthetic_picture(30, 20);
    std::fill(image.pixels.begin(), image.pixels.end(), uint8_t{7});
    for (size_t k = 0; k < image.pixels.size(); k += 3) {  // no grey, which text has too
      image.pixels[k] = static_cast<uint8_t>(50 + i);
      image.pixels[k + 1] = 90;
    }
    rows[0].cells.push_back({image, "0.731", i == 1});
  }
  rows[1].cells.push_back({DecodedImage{}, "missing", false});
  ContactSheetOptions options;
  options.cell_size = 60;
  const Canvas sheet = draw_contact_sheet(rows, options);
  EXPECT_EQ(sheet.width(), 12 + 3 * 72);
  EXPECT_EQ(count_of(sheet, {50, 90, 7}), 60 * 40);
  EXPECT_EQ(count_of(sheet, {52, 90, 7}), 60 * 40);
  EXPECT_GT(count_of(sheet, options.highlight), 4 * 60);
  EXPECT_GE(count_of(sheet, options.empty), 60 * 60 + 2 * 60 * 20);
  EXPECT_GT(draw_contact_sheet({}).width(), 0);
}

TEST(ContactSheet, TooManyRowsAreRefused) {
  EXPECT_THROW(draw_contact_sheet(std::vector<ContactRow>(1000)), Error);
  EXPECT_THROW(draw_contact_sheet({}, {.cell_size = 0}), Error);
}

}  // namespace
}  // namespace cantilever::test
