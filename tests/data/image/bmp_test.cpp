#include "cantilever/data/image/bmp.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/data/image/builders.h"
#include "tests/data/image/encoders.h"

namespace cantilever::test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

// Blue, green, red of two rows of three pixels, lower row first, rows padded to 12 bytes.
const std::string kRows = raw_bytes({1,  2,  3,  4,  5,  6,  7,  8,  9,  0, 0, 0,  //
                                     11, 12, 13, 14, 15, 16, 17, 18, 19, 0, 0, 0});
const std::string kPalette = raw_bytes({1, 2, 3, 0, 11, 12, 13, 0, 21, 22, 23, 0, 31, 32, 33, 0});

TEST(Bmp, TwentyFourBits) {
  const DecodedImage image = decode_image(BmpBuilder{.data = kRows}.bytes());
  EXPECT_EQ(image.format, "BMP");
  EXPECT_EQ(image.mode, "RGB");
  EXPECT_THAT(pixel_values(image), ElementsAre(13, 12, 11, 16, 15, 14, 19, 18, 17,  //
                                               3, 2, 1, 6, 5, 4, 9, 8, 7));
}

TEST(Bmp, TopDownAndTheOldHeader) {
  const DecodedImage top_down = decode_image(BmpBuilder{.height = -2, .data = kRows}.bytes());
  EXPECT_EQ(top_down.height, 2);
  EXPECT_THAT(pixel_at(top_down, 0, 0), ElementsAre(3, 2, 1));
  const DecodedImage old = decode_image(BmpBuilder{.header = 12, .data = kRows}.bytes());
  EXPECT_THAT(pixel_at(old, 0, 0), ElementsAre(13, 12, 11));
}

TEST(Bmp, Palettes) {
  const DecodedImage one =
      decode_image(BmpBuilder{.bits = 1,
                              .palette = kPalette.substr(0, 8),
                              .data = raw_bytes({0x40, 0, 0, 0, 0xa0, 0, 0, 0})}
                       .bytes());
  EXPECT_EQ(one.mode, "P");
  EXPECT_THAT(pixel_values(one), ElementsAre(13, 12, 11, 3, 2, 1, 13, 12, 11,  //
                                             3, 2, 1, 13, 12, 11, 3, 2, 1));
  const DecodedImage four = decode_image(BmpBuilder{.height = 1,
                                                    .bits = 4,
                                                    .colours = 4,
                                                    .palette = kPalette,
                                                    .data = raw_bytes({0x31, 0x20, 0, 0})}
                                             .bytes());
  EXPECT_THAT(pixel_values(four), ElementsAre(33, 32, 31, 13, 12, 11, 23, 22, 21));
  // An index beyond the palette is black.
  const DecodedImage eight = decode_image(BmpBuilder{
      .height = 1, .bits = 8, .colours = 4, .palette = kPalette, .data = raw_bytes({3, 200, 0, 0})}
                                              .bytes());
  EXPECT_THAT(pixel_values(eight), ElementsAre(33, 32, 31, 0, 0, 0, 3, 2, 1));
}

TEST(Bmp, GreyRampsAreGrey) {
  const DecodedImage bits =
      decode_image(BmpBuilder{.height = 1,
                              .bits = 1,
                              .palette = raw_bytes({0, 0, 0, 0, 255, 255, 255, 0}),
                              .data = raw_bytes({0x40, 0, 0, 0})}
                       .bytes());
  EXPECT_EQ(bits.mode, "1");
  EXPECT_THAT(pixel_values(bits), ElementsAre(0, 0, 0, 255, 255, 255, 0, 0, 0));
  std::string ramp;
  for (int i = 0; i < 256; ++i) ramp += raw_bytes({i, i, i, 0});
  const DecodedImage levels = decode_image(
      BmpBuilder{.height = 1, .bits = 8, .palette = ramp, .data = raw_bytes({9, 8, 7, 0})}.bytes());
  EXPECT_EQ(levels.mode, "L");
  EXPECT_THAT(pixel_values(levels), ElementsAre(9, 9, 9, 8, 8, 8, 7, 7, 7));
}

TEST(Bmp, SixteenBitsAndMasks) {
  const auto pixel = [](uint32_t value, std::string masks) {
    const BmpBuilder bmp = {.width = 1,
                            .height = 1,
                            .bits = 16,
                            .compression = masks.empty() ? 0U : 3U,
                            .masks = std::move(masks),
                            .data = little_endian(value, 4)};
    return pixel_values(decode_image(bmp.bytes()));
  };
  EXPECT_THAT(pixel(0x7c00 | 0x10 << 5 | 1, ""), ElementsAre(255, 131, 8));
  const std::string five_six_five =
      little_endian(0xf800, 4) + little_endian(0x7e0, 4) + little_endian(0x1f, 4);
  EXPECT_THAT(pixel(0xf800 | 0x20 << 5 | 1, five_six_five), ElementsAre(255, 129, 8));
}

TEST(Bmp, ThirtyTwoBitsDropTheFourthByte) {
  const std::string data = raw_bytes({1, 2, 3, 0});
  const BmpBuilder plain = {.width = 1, .height = 1, .bits = 32, .data = data};
  EXPECT_THAT(pixel_values(decode_image(plain.bytes())), ElementsAre(3, 2, 1));
  BmpBuilder masked = plain;
  masked.header = 124;
  masked.compression = 3;
  masked.masks = little_endian(0xff, 4) + little_endian(0xff00, 4) + little_endian(0xff0000, 4) +
                 little_endian(0xff000000, 4);
  const DecodedImage image = decode_image(masked.bytes());
  EXPECT_EQ(image.mode, "RGBA");
  EXPECT_THAT(pixel_values(image), ElementsAre(1, 2, 3));
  masked.masks = little_endian(0x3ff, 4) + std::string(12, '\0');
  EXPECT_THAT(decode_error(masked.bytes()), HasSubstr("colour masks that are not read"));
}

TEST(Bmp, RunLengths) {
  BmpBuilder bmp = {
      .width = 4, .height = 2, .bits = 8, .compression = 1, .colours = 4, .palette = kPalette};
  const auto indices = [&](std::initializer_list<int> data) {
    bmp.data = raw_bytes(data);
    const DecodedImage image = decode_image(bmp.bytes());
    std::vector<int> found;
    for (size_t i = 0; i < image.pixels.size(); i += 3) found.push_back(image.pixels[i] / 10);
    return found;
  };
  // A run, a literal of three padded to four bytes, ends; the lower row comes first.
  EXPECT_THAT(indices({4, 2, 0, 0, 0, 3, 1, 2, 3, 0, 1, 3, 0, 1}),
              ElementsAre(1, 2, 3, 3, 2, 2, 2, 2));
  // A row that ends early, a run that is cut at the row's end.
  EXPECT_THAT(indices({2, 1, 0, 0, 9, 3, 0, 1}), ElementsAre(3, 3, 3, 3, 1, 1, 0, 0));
  // A jump by one pixel and one row.
  EXPECT_THAT(indices({1, 2, 0, 2, 1, 1, 2, 3, 0, 1}), ElementsAre(0, 0, 3, 3, 2, 0, 0, 0));
  bmp.bits = 4;
  bmp.compression = 2;
  EXPECT_THAT(indices({3, 0x12, 1, 0x30, 0, 0, 0, 4, 0x12, 0x30, 0, 1}),
              ElementsAre(1, 2, 3, 0, 1, 2, 1, 3));
  bmp.data = raw_bytes({4, 0x11, 0, 0, 2, 0x11, 0, 1});
  EXPECT_THAT(decode_error(bmp.bytes()), HasSubstr("run lengths end in row 1 of 2"));
}

TEST(Bmp, ADibHasNoFileHeader) {
  const DecodedImage image =
      decode_image(BmpBuilder{.data = kRows, .has_file_header = false}.bytes());
  EXPECT_EQ(image.format, "DIB");
  EXPECT_THAT(pixel_at(image, 2, 1), ElementsAre(9, 8, 7));
}

TEST(Bmp, Refusals) {
  const auto error = [](const BmpBuilder& bmp) { return decode_error(bmp.bytes()); };
  EXPECT_THAT(error({.data = kRows.substr(0, 20)}), HasSubstr("truncated; 20 bytes"));
  // The last row needs no padding.
  EXPECT_EQ(error({.data = kRows.substr(0, 21)}), "");
  EXPECT_THAT(error({.bits = 2, .data = kRows}), HasSubstr("2 bits a pixel"));
  EXPECT_THAT(error({.header = 41, .data = kRows}), HasSubstr("a header of 41 bytes"));
  EXPECT_THAT(error({.compression = 4, .data = kRows}), HasSubstr("compression 4"));
  EXPECT_THAT(error({.width = 0, .data = kRows}), HasSubstr("0 x 2"));
  EXPECT_THAT(error({.bits = 8, .colours = 70000, .data = kRows}), HasSubstr("70000 colours"));
  EXPECT_THAT(error({.compression = 1, .data = kRows}), HasSubstr("without a palette"));
  const Bytes whole = BmpBuilder{.data = kRows}.bytes();
  EXPECT_THAT(decode_error(std::span(whole).first(30)), HasSubstr("truncated in the header"));
  EXPECT_THAT(decode_error(std::span(whole).first(10)), HasSubstr("truncated in its file header"));
}

// R04: a header that declares the largest size there is.
TEST(Bmp, AHeaderAloneCostsNoMemory) {
  BmpBuilder bmp = {.width = 0x7fffffff, .height = 0x7fffffff};
  EXPECT_THAT(decode_error(bmp.bytes()), HasSubstr("more than the limit"));
  bmp.width = bmp.height = 13000;
  EXPECT_THAT(decode_error(bmp.bytes()), HasSubstr("truncated; 0 bytes"));
}

std::string icon(const std::vector<std::pair<int, std::string>>& pictures) {
  std::string head = raw_bytes({0, 0, 1, 0}) + little_endian(pictures.size(), 2);
  std::string data;
  for (const auto& [bits, body] : pictures) {
    head += raw_bytes({2, 2, 0, 0, 1, 0, bits, 0}) + little_endian(body.size(), 4) +
            little_endian(6 + pictures.size() * 16 + data.size(), 4);
    data += body;
  }
  return head + data;
}

std::string icon_picture(int first) {
  std::string rows;
  for (int i = 0; i < 4; ++i)
    rows += raw_bytes({first + i, 0, 0}) + (i % 2 == 1 ? raw_bytes({0, 0}) : "");
  const Bytes dib =
      BmpBuilder{
          .width = 2, .height = 4, .data = rows + std::string(8, '\xff'), .has_file_header = false}
          .bytes();
  return std::string(to_text(dib));
}

TEST(Ico, TheColoursUnderTheMaskOfThePictureWithFewestBits) {
  const DecodedImage image =
      decode_image(to_bytes(icon({{24, icon_picture(10)}, {16, icon_picture(100)}})));
  EXPECT_EQ(image.format, "ICO");
  EXPECT_EQ(image.mode, "RGBA");
  EXPECT_THAT(pixel_values(image), ElementsAre(0, 0, 102, 0, 0, 103, 0, 0, 100, 0, 0, 101));
}

TEST(Ico, APngInside) {
  const Bytes png = PngBuilder(1, 1, 8, 6).data(raw_bytes({0, 7, 8, 9, 0})).end().bytes();
  const DecodedImage image = decode_image(to_bytes(icon({{32, std::string(to_text(png))}})));
  EXPECT_EQ(image.format, "ICO");
  EXPECT_THAT(pixel_values(image), ElementsAre(7, 8, 9));
}

TEST(Ico, Refusals) {
  EXPECT_THAT(decode_error(to_bytes(icon({}))), HasSubstr("no picture"));
  const std::string whole = icon({{24, icon_picture(10)}});
  EXPECT_THAT(decode_error(to_bytes(whole.substr(0, 15))), HasSubstr("list of its 1 pictures"));
  EXPECT_THAT(decode_error(to_bytes(whole.substr(0, whole.size() - 4))), HasSubstr("the mask"));
}

}  // namespace
}  // namespace cantilever::test
