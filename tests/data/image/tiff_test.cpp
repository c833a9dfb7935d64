#include "cantilever/data/image/tiff.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <thread>

#include "tests/data/image/builders.h"
#include "tests/data/image/encoders.h"

namespace cantilever::test {
namespace {

using testing::AllOf;
using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;

// 3 x 2 pixels of three samples counted up from 1.
std::string counted(int count, int step = 1) {
  std::string bytes;
  for (int i = 1; i <= count; ++i) bytes += static_cast<char>(i * step);
  return bytes;
}

TiffBuilder rgb() {
  return TiffBuilder(3, 2, 3, 8, 2);
}

std::vector<int> count_to(int last) {
  std::vector<int> values;
  for (int i = 1; i <= last; ++i) values.push_back(i);
  return values;
}

TEST(Tiff, Rgb) {
  const DecodedImage image = decode_image(rgb().strip(counted(18)).bytes());
  EXPECT_EQ(image.format, "TIFF");
  EXPECT_EQ(image.mode, "RGB");
  EXPECT_EQ(image.width, 3);
  EXPECT_EQ(image.height, 2);
  EXPECT_EQ(pixel_values(image), count_to(18));
}

TEST(Tiff, StripsTilesAndPlanes) {
  EXPECT_EQ(pixel_values(decode_image(
                rgb().tag(278, {1}).strip(counted(9)).strip(counted(18).substr(9)).bytes())),
            count_to(18));
  // Tiles of 2 x 1, the right ones half outside.
  const DecodedImage tiled = decode_image(rgb()
                                              .tiles(2, 1)
                                              .strip(raw_bytes({1, 2, 3, 4, 5, 6}))
                                              .strip(raw_bytes({7, 8, 9, 99, 99, 99}))
                                              .strip(raw_bytes({10, 11, 12, 13, 14, 15}))
                                              .strip(raw_bytes({16, 17, 18, 99, 99, 99}))
                                              .bytes());
  EXPECT_EQ(pixel_values(tiled), count_to(18));
  const DecodedImage planar = decode_image(rgb()
                                               .tag(284, {2})
                                               .strip(raw_bytes({1, 4, 7, 10, 13, 16}))
                                               .strip(raw_bytes({2, 5, 8, 11, 14, 17}))
                                               .strip(raw_bytes({3, 6, 9, 12, 15, 18}))
                                               .bytes());
  EXPECT_EQ(pixel_values(planar), count_to(18));
}

TEST(Tiff, CompressedStripsTilesAndPlanes) {
  const auto packed = [](std::string_view bytes) { return PngBuilder::deflated(bytes); };
  EXPECT_EQ(pixel_values(decode_image(rgb().tag(259, {8}).strip(packed(counted(18))).bytes())),
            count_to(18));
  EXPECT_EQ(pixel_values(decode_image(rgb().tag(259, {32946}).strip(packed(counted(18))).bytes())),
            count_to(18));
  const std::string literal = raw_bytes({17}) + counted(18);
  EXPECT_EQ(pixel_values(decode_image(rgb().tag(259, {32773}).strip(literal).bytes())),
            count_to(18));
  TiffBuilder planar = rgb().tag(259, {8}).tag(284, {2});
  for (const auto& plane : {raw_bytes({1, 4, 7, 10, 13, 16}), raw_bytes({2, 5, 8, 11, 14, 17}),
                            raw_bytes({3, 6, 9, 12, 15, 18})}) {
    planar.strip(packed(plane));
  }
  EXPECT_EQ(pixel_values(decode_image(planar.bytes())), count_to(18));
  std::string tile(size_t{16} * 16 * 3, '\x63');
  for (size_t y = 0; y < 2; ++y) tile.replace(y * 48, 9, counted(18).substr(y * 9, 9));
  EXPECT_EQ(
      pixel_values(decode_image(rgb().tag(259, {8}).tiles(16, 16).strip(packed(tile)).bytes())),
      count_to(18));
}

// Differences from pixel to pixel (predictor 2).
TEST(Tiff, PredictorOfDeflate) {
  const std::string rows = raw_bytes({1, 2, 3, 3, 3, 3, 3, 3, 3, 10, 11, 12, 3, 3, 3, 3, 3, 3});
  EXPECT_EQ(pixel_values(decode_image(
                rgb().tag(259, {8}).tag(317, {2}).strip(PngBuilder::deflated(rows)).bytes())),
            count_to(18));
}

// libtiff 4.5 with libdeflate says that such a strip is read and may write nothing.
TEST(Tiff, ADeflatedStripWithMoreRowsThanThePicture) {
  // Stored and not packed: zlib header, one final block, no use for the check sum.
  const std::string plain = counted(18) + std::string(90, '\x07');
  const std::string stored = raw_bytes({0x78, 1, 1}) + little_endian(plain.size(), 2) +
                             little_endian(0xffff - plain.size(), 2) + plain;
  EXPECT_EQ(
      pixel_values(decode_image(rgb().tag(259, {8}).strip(stored + std::string(4, '\0')).bytes())),
      count_to(18));
}

TEST(Tiff, Grey) {
  const auto grey = [](int bits, int photometric, std::string row, uint32_t format = 1) {
    const DecodedImage image = decode_image(
        TiffBuilder(2, 1, 1, bits, photometric).tag(339, {format}).strip(std::move(row)).bytes());
    return std::vector<int>{image.pixels[0], image.pixels[3]};
  };
  EXPECT_THAT(grey(1, 1, raw_bytes({0x40})), ElementsAre(0, 255));
  EXPECT_THAT(grey(1, 0, raw_bytes({0x40})), ElementsAre(255, 0));
  EXPECT_THAT(grey(2, 1, raw_bytes({0x60})), ElementsAre(85, 170));
  EXPECT_THAT(grey(4, 0, raw_bytes({0x1f})), ElementsAre(238, 0));
  EXPECT_THAT(grey(8, 1, raw_bytes({7, 9})), ElementsAre(7, 9));
  EXPECT_THAT(grey(8, 0, raw_bytes({7, 9})), ElementsAre(248, 246));
  // More than eight bits are clipped, not scaled.
  EXPECT_THAT(grey(12, 1, raw_bytes({0x00, 0x71, 0x00})), ElementsAre(7, 255));
  EXPECT_THAT(grey(16, 1, raw_bytes({200, 0, 0, 1})), ElementsAre(200, 255));
  EXPECT_THAT(grey(16, 1, raw_bytes({0xff, 0xff, 77, 0}), 2), ElementsAre(0, 77));
  EXPECT_THAT(grey(32, 1, raw_bytes({9, 0, 0, 0, 0, 0, 1, 0}), 2), ElementsAre(9, 255));
  // 3.5 and -1.
  EXPECT_THAT(grey(32, 1, raw_bytes({0, 0, 0x60, 0x40, 0, 0, 0x80, 0xbf}), 3), ElementsAre(3, 0));
}

TEST(Tiff, PaletteAndAlpha) {
  const std::vector<uint32_t> colours = {0x0100, 0x1100, 0x2100, 0x3100, 0x0200, 0x1200,
                                         0x2200, 0x3200, 0x0300, 0x1300, 0x2300, 0x33ff};
  const DecodedImage palette =
      decode_image(TiffBuilder(2, 1, 1, 2, 3).tag(320, colours).strip(raw_bytes({0xd0})).bytes());
  EXPECT_EQ(palette.mode, "P");
  EXPECT_THAT(pixel_values(palette), ElementsAre(0x31, 0x32, 0x33, 0x11, 0x12, 0x13));
  const auto rgba = [](uint32_t kind) {
    return pixel_values(decode_image(
        TiffBuilder(1, 1, 4, 8, 2).tag(338, {kind}).strip(raw_bytes({10, 20, 30, 60})).bytes()));
  };
  EXPECT_THAT(rgba(0), ElementsAre(10, 20, 30));
  EXPECT_THAT(rgba(2), ElementsAre(10, 20, 30));
  EXPECT_THAT(rgba(1), ElementsAre(42, 85, 127));  // were multiplied by alpha
}

TEST(Tiff, SixteenBitsCmykAndYcbcr) {
  const DecodedImage wide =
      decode_image(TiffBuilder(1, 1, 3, 16, 2).strip(raw_bytes({1, 10, 2, 20, 3, 30})).bytes());
  EXPECT_THAT(pixel_values(wide), ElementsAre(10, 20, 30));
  const DecodedImage cmyk = decode_image(
      TiffBuilder(2, 1, 4, 8, 5).strip(raw_bytes({0, 0, 0, 0, 255, 0, 128, 55})).bytes());
  EXPECT_EQ(cmyk.mode, "CMYK");
  EXPECT_THAT(pixel_values(cmyk), ElementsAre(255, 255, 255, 0, 200, 100));
  const DecodedImage ycbcr =
      decode_image(TiffBuilder(1, 1, 3, 8, 6).strip(raw_bytes({100, 128, 228})).bytes());
  EXPECT_EQ(ycbcr.mode, "YCbCr");
  EXPECT_THAT(pixel_values(ycbcr), ElementsAre(240, 28, 100));
}

TEST(Tiff, JpegInside) {
  const std::vector<uint8_t> samples(size_t{16} * 8 * 3, 120);
  const Bytes jpeg = encode_jpeg(samples, 16, 8);
  const DecodedImage image = decode_image(TiffBuilder(16, 8, 3, 8, 6)
                                              .tag(259, {7})
                                              .tag(530, {2, 2})
                                              .strip(std::string(to_text(jpeg)))
                                              .bytes());
  EXPECT_EQ(image.mode, "RGB");
  EXPECT_THAT(image.pixels, Each(120));
}

TEST(Tiff, ComesOutUprightAskedOrNot) {
  for (const bool asked : {false, true}) {
    const DecodedImage image = decode_image(rgb().tag(274, {6}).strip(counted(18)).bytes(),
                                            {.apply_exif_orientation = asked});
    EXPECT_EQ(image.width, 2);
    EXPECT_EQ(image.height, 3);
    EXPECT_EQ(image.exif_orientation, 1);
    EXPECT_THAT(pixel_at(image, 0, 0), ElementsAre(10, 11, 12));
    EXPECT_THAT(pixel_at(image, 1, 2), ElementsAre(7, 8, 9));
  }
  const std::string xmp = "<x tiff:Orientation=\"3\"/>";
  const DecodedImage turned = decode_image(
      rgb().raw_tag(700, 1, static_cast<uint32_t>(xmp.size()), xmp).strip(counted(18)).bytes());
  EXPECT_THAT(pixel_at(turned, 0, 0), ElementsAre(16, 17, 18));
}

TEST(Tiff, MissingStripsAreBlack) {
  const DecodedImage image = decode_image(rgb().tag(278, {1}).strip(counted(9)).bytes());
  EXPECT_THAT(pixel_at(image, 2, 0), ElementsAre(7, 8, 9));
  EXPECT_THAT(pixel_at(image, 2, 1), ElementsAre(0, 0, 0));
}

TEST(Tiff, Refusals) {
  const auto error = [](TiffBuilder tiff) { return decode_error(tiff.bytes()); };
  const std::string rows = counted(18);
  EXPECT_THAT(error(TiffBuilder(30, 20, 3, 8, 2).strip(rows)),
              HasSubstr("truncated; the picture data at byte 8 needs 1800 bytes"));
  EXPECT_THAT(error(rgb().tag(259, {99}).strip(rows)), HasSubstr("compression 99"));
  EXPECT_THAT(error(rgb().tag(262, {8}).strip(rows)), HasSubstr("kind LAB"));
  EXPECT_THAT(error(rgb().tag(262, {7}).strip(rows)),
              AllOf(HasSubstr("photometric 7"), HasSubstr("bits 8 8 8")));
  EXPECT_THAT(error(rgb().tag(277, {7}).strip(rows)), HasSubstr("7 samples"));
  EXPECT_THAT(error(rgb().tag(256, {0}).strip(rows)), HasSubstr("0 x 2"));
  EXPECT_THAT(error(rgb()), HasSubstr("names no picture data"));
  EXPECT_THAT(error(rgb().tag(278, {0}).strip(rows)), HasSubstr("tiles of 3 x 0"));
  EXPECT_THAT(error(rgb().raw_tag(256, 2, 2, "3").strip(rows)), HasSubstr("not one of integers"));
  EXPECT_THAT(error(TiffBuilder(3, 2, 1, 8, 3).strip(rows)), HasSubstr("its palette is missing"));
  EXPECT_THAT(error(rgb().tag(0xbc01, {1}).strip(rows)), HasSubstr("Windows Media Photo"));
  for (const uint32_t compression : {2, 3, 4, 5, 6, 7, 8, 32773, 34925, 50000, 50001}) {
    EXPECT_THAT(error(rgb().tag(259, {compression}).strip("\x01\x02\x03")),
                AllOf(HasSubstr("TIFF: "), HasSubstr("broken")))
        << compression;
  }
}

TEST(Tiff, AHeaderAloneCostsNoMemory) {
  const auto error = [](TiffBuilder tiff) { return decode_error(tiff.bytes()); };
  EXPECT_THAT(error(TiffBuilder(0xffffffff, 0xffffffff, 3, 8, 2).strip("x")),
              HasSubstr("more than the limit"));
  EXPECT_THAT(
      error(TiffBuilder(13000, 13000, 3, 8, 2).tag(278, {1}).strip(std::string(39000, 'x'))),
      HasSubstr("cannot hold the 13000 x 13000 pixels"));
  EXPECT_THAT(error(TiffBuilder(13000, 13000, 3, 8, 2).tag(259, {8}).strip("x")),
              HasSubstr("TIFF: broken or truncated"));
  EXPECT_THAT(error(TiffBuilder(13000, 13000, 3, 8, 6)
                        .tag(259, {8})
                        .strip(PngBuilder::deflated(std::string(1000, '\0')))),
              HasSubstr("cannot hold the 13000 x 13000 pixels"));
}

// Thousands of strips in one place cost what one of them does.
TEST(Tiff, ManyStripsInOnePlace) {
  constexpr uint32_t kSide = 3000;
  const DecodedImage image = decode_image(TiffBuilder(kSide, kSide, 1, 8, 1)
                                              .tag(278, {kSide + 1})
                                              .tag(273, std::vector<uint32_t>(20000, 8))
                                              .strip(std::string(size_t{kSide} * kSide, '\x05'))
                                              .bytes());
  EXPECT_EQ(std::count(image.pixels.begin(), image.pixels.end(), 5), 3 * kSide * kSide);
}

// Nothing of libtiff's reaches standard error, whatever it says.
TEST(Tiff, LibtiffIsSilent) {
  testing::internal::CaptureStderr();
  EXPECT_NE(decode_error(rgb().tag(259, {5}).strip("garbage").bytes()), "");
  EXPECT_NE(decode_error(rgb().tag(259, {7}).strip("garbage").bytes()), "");
  EXPECT_NE(decode_error(rgb().tag(259, {8}).tag(40000, {1, 2, 3}).strip("garbage").bytes()), "");
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
}

TEST(Tiff, ThreadsDecodeAtOnceAndFailAlone) {
  const Bytes sound = rgb().tag(259, {8}).strip(PngBuilder::deflated(counted(18))).bytes();
  const Bytes broken = rgb().tag(259, {8}).strip("garbage").bytes();
  std::atomic<int> right = 0;
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      for (int round = 0; round < 50; ++round) {
        right += pixel_values(decode_image(sound)) == count_to(18) ? 1 : 0;
        right += decode_error(broken).find("ZIPDecode") != std::string::npos ||
                         decode_error(broken).find("strip") != std::string::npos
                     ? 1
                     : 0;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(right, 400);
}

}  // namespace
}  // namespace cantilever::test
