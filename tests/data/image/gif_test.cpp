#include "cantilever/data/image/gif.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/data/image/builders.h"

namespace cantilever::test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

const std::string kColours = raw_bytes({10, 11, 12, 20, 21, 22, 30, 31, 32, 40, 41, 42,  //
                                        50, 51, 52, 60, 61, 62, 70, 71, 72, 80, 81, 82});
const std::string kRamp =
    raw_bytes({0, 0, 0, 1, 1, 1, 2, 2, 2, 3, 3, 3, 4, 4, 4, 5, 5, 5, 6, 6, 6, 7, 7, 7});
const std::string kTwelve = raw_bytes({0, 1, 2, 3, 4, 5, 6, 7, 0, 1, 2, 3});

std::vector<int> reds(const DecodedImage& image) {
  std::vector<int> values;
  for (size_t i = 0; i < image.pixels.size(); i += 3) values.push_back(image.pixels[i]);
  return values;
}

TEST(Gif, GlobalPalette) {
  const DecodedImage image =
      decode_image(GifBuilder{.global_palette = kColours, .indices = kTwelve}.bytes());
  EXPECT_EQ(image.format, "GIF");
  EXPECT_EQ(image.mode, "P");
  EXPECT_EQ(image.width, 4);
  EXPECT_EQ(image.height, 3);
  EXPECT_THAT(reds(image), ElementsAre(10, 20, 30, 40, 50, 60, 70, 80, 10, 20, 30, 40));
  EXPECT_THAT(pixel_at(image, 3, 1), ElementsAre(80, 81, 82));
}

TEST(Gif, ALocalPaletteComesBeforeTheGlobalOne) {
  std::string other = kColours;
  other[0] = 99;
  const DecodedImage image = decode_image(
      GifBuilder{.global_palette = kColours, .local_palette = other, .indices = kTwelve}.bytes());
  EXPECT_EQ(reds(image)[0], 99);
}

TEST(Gif, WithoutAPaletteIndicesAreGrey) {
  const DecodedImage image = decode_image(GifBuilder{.indices = kTwelve}.bytes());
  EXPECT_EQ(image.mode, "L");
  EXPECT_THAT(pixel_at(image, 1, 1), ElementsAre(5, 5, 5));
}

// As Pillow: such a palette is dropped, and a global one that is none shows through.
TEST(Gif, ALocalPaletteThatIsTheGreyRampIsNone) {
  const DecodedImage alone =
      decode_image(GifBuilder{.local_palette = kRamp, .indices = kTwelve}.bytes());
  EXPECT_EQ(alone.mode, "L");
  EXPECT_EQ(reds(alone)[5], 5);
  const DecodedImage both = decode_image(
      GifBuilder{.global_palette = kColours, .local_palette = kRamp, .indices = kTwelve}.bytes());
  EXPECT_EQ(both.mode, "L");
  EXPECT_EQ(reds(both)[5], 60);
}

TEST(Gif, OutsideOfASmallFrameStandsColourZeroOrTheTransparentOne) {
  GifBuilder gif = {.width = 4,
                    .height = 3,
                    .left = 1,
                    .top = 1,
                    .frame_width = 2,
                    .frame_height = 1,
                    .global_palette = kColours,
                    .indices = raw_bytes({6, 7})};
  EXPECT_THAT(reds(decode_image(gif.bytes())),
              ElementsAre(10, 10, 10, 10, 10, 70, 80, 10, 10, 10, 10, 10));
  gif.before = GifBuilder::control(2);
  EXPECT_THAT(reds(decode_image(gif.bytes())),
              ElementsAre(30, 30, 30, 30, 30, 70, 80, 30, 30, 30, 30, 30));
}

TEST(Gif, AFrameBeyondTheScreenMakesItLarger) {
  const DecodedImage image = decode_image(GifBuilder{.width = 1,
                                                     .height = 1,
                                                     .left = 2,
                                                     .top = 1,
                                                     .frame_width = 2,
                                                     .frame_height = 1,
                                                     .global_palette = kColours,
                                                     .indices = raw_bytes({6, 7})}
                                              .bytes());
  EXPECT_EQ(image.width, 4);
  EXPECT_EQ(image.height, 2);
  EXPECT_THAT(reds(image), ElementsAre(10, 10, 10, 10, 10, 10, 70, 80));
}

TEST(Gif, InterlacedRowsFindTheirPlace) {
  // The row that each one of ten stored rows is.
  constexpr int kRows[] = {0, 8, 4, 2, 6, 1, 3, 5, 7, 9};
  std::string indices;
  for (const int row : kRows) indices += static_cast<char>(row % 8);
  const DecodedImage image = decode_image(GifBuilder{.width = 1,
                                                     .height = 10,
                                                     .frame_width = 1,
                                                     .frame_height = 10,
                                                     .global_palette = kColours,
                                                     .interlaced = true,
                                                     .indices = indices}
                                              .bytes());
  EXPECT_THAT(reds(image), ElementsAre(10, 20, 30, 40, 50, 60, 70, 80, 10, 20));
}

// Codes 4 (clear), 1, 6 (the string being made: 1 1), 7 (6 and 1 again), 5 (end), by hand.
TEST(Gif, StringsOfTheTable) {
  GifBuilder gif = {.frame_width = 3, .frame_height = 2, .global_palette = kColours, .bits = 2};
  gif.width = 3;
  gif.height = 2;
  std::string file(to_text(gif.bytes()));
  const std::string head = file.substr(0, 13 + 24 + 10) + raw_bytes({2});
  // 3 bits each up to code 7, four from there: 100 001 110 111 then 0101.
  const int first = 4 | 1 << 3 | (6 & 3) << 6;
  const int second = 6 >> 2 | 7 << 1 | 5 << 4;
  const DecodedImage image = decode_image(to_bytes(head + raw_bytes({2, first, second, 0, 0x3b})));
  EXPECT_THAT(reds(image), ElementsAre(20, 20, 20, 20, 20, 20));
}

TEST(Gif, BlocksBeforeThePicture) {
  const std::string blocks = raw_bytes({0x21, 0xff, 11}) + "NETSCAPE2.0" +
                             raw_bytes({3, 1, 0, 0, 0}) + raw_bytes({0x21, 0xfe, 3}) + "abc" +
                             raw_bytes({0}) + "junk";
  EXPECT_EQ(
      decode_error(
          GifBuilder{.global_palette = kColours, .before = blocks, .indices = kTwelve}.bytes()),
      "");
}

TEST(Gif, WhatIsCompleteMayEndEarly) {
  const Bytes whole = GifBuilder{.global_palette = kColours, .indices = kTwelve}.bytes();
  EXPECT_EQ(decode_error(std::span(whole).first(whole.size() - 2)), "");
}

TEST(Gif, Refusals) {
  const GifBuilder sound = {.global_palette = kColours, .indices = kTwelve};
  const auto error = [](const GifBuilder& gif) { return decode_error(gif.bytes()); };
  GifBuilder gif = sound;
  gif.indices.resize(7);
  EXPECT_THAT(error(gif), HasSubstr("truncated; the picture data ends in row 1 of 3"));
  gif = sound;
  gif.frame_width = 0;
  EXPECT_THAT(error(gif), HasSubstr("its picture is 0 x 3"));
  gif = sound;
  gif.bits = 13;
  gif.indices.clear();
  EXPECT_THAT(error(gif), HasSubstr("a code size of 13 bits"));
  gif = sound;
  gif.before = raw_bytes({0x21, 0xf9, 2, 1, 0, 0});
  EXPECT_THAT(error(gif), HasSubstr("graphic control extension of 2 bytes"));
  gif = sound;
  gif.before = ";";
  EXPECT_THAT(error(gif), HasSubstr("without a picture"));
  const Bytes bytes = sound.bytes();
  EXPECT_THAT(decode_error(std::span(bytes).first(20)), HasSubstr("truncated in a palette"));
  EXPECT_THAT(decode_error(std::span(bytes).first(40)), HasSubstr("truncated in the descriptor"));
  EXPECT_THAT(decode_error(std::span(bytes).first(13)), HasSubstr("truncated in a palette"));
}

TEST(Gif, AHeaderAloneCostsNoMemory) {
  GifBuilder gif = {.width = 12000,
                    .height = 12000,
                    .frame_width = 12000,
                    .frame_height = 12000,
                    .indices = kTwelve};
  EXPECT_THAT(decode_error(gif.bytes()), HasSubstr("cannot hold the 12000 x 12000 pixels"));
  gif.frame_width = gif.frame_height = 65535;
  EXPECT_THAT(decode_error(gif.bytes()), HasSubstr("more than the limit"));
  EXPECT_THAT(decode_error(GifBuilder{.indices = kTwelve}.bytes(), {.max_pixels = 11}),
              HasSubstr("more than the limit of 11 pixels"));
}

}  // namespace
}  // namespace cantilever::test
