#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "tests/data/image/encoders.h"
#include "tests/data/image/support.h"

namespace cantilever::test {
namespace {

using std::string_view_literals::operator""sv;
using testing::HasSubstr;

// A smooth ramp, which JPEG keeps well.
std::vector<uint8_t> ramp(int width, int height, int components) {
  std::vector<uint8_t> samples;
  for (int y = 0; y < height; ++y) {
    for (int x = 0; x < width; ++x) {
      for (int c = 0; c < components; ++c) {
        samples.push_back(static_cast<uint8_t>(40 + 3 * x + 2 * y + 10 * c));
      }
    }
  }
  return samples;
}

int largest_difference(const std::vector<uint8_t>& a, const std::vector<uint8_t>& b) {
  int largest = 0;
  for (size_t i = 0; i < a.size(); ++i) largest = std::max(largest, std::abs(a[i] - b[i]));
  return largest;
}

TEST(JpegDecode, EveryProcessGivesThePicture) {
  const std::vector<uint8_t> samples = ramp(37, 21, 3);
  for (const bool progressive : {false, true}) {
    for (const bool arithmetic : {false, true}) {
      const JpegOptions options = {.quality = 98,
                                   .progressive = progressive,
                                   .arithmetic = arithmetic,
                                   .restarts = !progressive};
      const DecodedImage image = decode_image(encode_jpeg(samples, 37, 21, options));
      EXPECT_EQ(image.width, 37);
      EXPECT_EQ(image.height, 21);
      EXPECT_EQ(image.format, "JPEG");
      EXPECT_EQ(image.mode, "RGB");
      EXPECT_EQ(image.exif_orientation, 1);
      ASSERT_EQ(image.pixels.size(), samples.size());
      EXPECT_LE(largest_difference(image.pixels, samples), 4) << progressive << arithmetic;
    }
  }
}

TEST(JpegDecode, GreyBecomesThreeEqualChannels) {
  const std::vector<uint8_t> samples = ramp(16, 9, 1);
  const DecodedImage image =
      decode_image(encode_jpeg(samples, 16, 9, {.components = 1, .quality = 98}));
  EXPECT_EQ(image.mode, "L");
  for (size_t i = 0; i < samples.size(); ++i) {
    EXPECT_EQ(image.pixels[i * 3], image.pixels[i * 3 + 1]);
    EXPECT_EQ(image.pixels[i * 3], image.pixels[i * 3 + 2]);
    EXPECT_NEAR(image.pixels[i * 3], samples[i], 3);
  }
}

// Flat colours survive JPEG exactly. As Pillow: 255 - (C + K - C * K) of the inverted samples.
TEST(JpegDecode, CmykIsInvertedAndMultiplied) {
  std::vector<uint8_t> samples;
  for (int i = 0; i < 64; ++i) samples.insert(samples.end(), {200, 100, 255, 128});
  const DecodedImage image =
      decode_image(encode_jpeg(samples, 8, 8, {.components = 4, .quality = 100}));
  EXPECT_EQ(image.mode, "CMYK");
  EXPECT_EQ(image.pixels[0], 100);  // 128 - 55 * 128 / 255
  EXPECT_EQ(image.pixels[1], 50);   // 128 - 155 * 128 / 255
  EXPECT_EQ(image.pixels[2], 128);
}

TEST(JpegDecode, TruncatedDataIsNamed) {
  for (const bool progressive : {false, true}) {
    const Bytes whole =
        encode_jpeg(ramp(64, 64, 3), 64, 64, {.quality = 95, .progressive = progressive});
    for (const size_t length : {whole.size() / 2, whole.size() - 20}) {
      const std::span<const std::byte> part(whole.data(), length);
      EXPECT_THAT(decode_error(part), HasSubstr("JPEG: truncated")) << progressive << length;
    }
  }
}

// libjpeg reads a few bits ahead: with anything behind the last row, Pillow and we are content.
TEST(JpegDecode, MissingEndMarkerIsForgivenWhenBytesFollow) {
  const Bytes whole = encode_jpeg(ramp(24, 24, 3), 24, 24);
  const std::span<const std::byte> part(whole.data(), whole.size() - 2);
  EXPECT_THAT(decode_error(part), HasSubstr("truncated"));
  Bytes padded(part.begin(), part.end());
  padded.resize(padded.size() + 4);
  EXPECT_EQ(decode_error(padded), "");
}

TEST(JpegDecode, JunkBetweenSegmentsIsSkipped) {
  const Bytes plain = encode_jpeg(ramp(16, 16, 3), 16, 16);
  Bytes junk(plain.begin(), plain.begin() + 2);
  for (const std::byte byte : to_bytes("\xff\xff\xff"sv)) junk.push_back(byte);
  junk.insert(junk.end(), plain.begin() + 3, plain.end());
  EXPECT_EQ(decode_image(junk).pixels, decode_image(plain).pixels);
}

TEST(JpegDecode, RefusalsSayWhy) {
  EXPECT_THAT(decode_error(to_bytes("\xff\xd8\xff\xd9"sv)), HasSubstr("no picture data"));
  EXPECT_THAT(decode_error(to_bytes("\xff\xd8\xff\xe0\x10\x00zz"sv)), HasSubstr("truncated"));
  EXPECT_THAT(
      decode_error(to_bytes("\xff\xd8\xff\xc1\x00\x0b\x0c\x00\x10\x00\x10\x01\x01\x11\x00"sv)),
      HasSubstr("12-bit"));
  EXPECT_THAT(decode_error(to_bytes("\xff\xd8\xff\xc0\x00\x08\x08\x00\x10\x00\x10\x02"sv)),
              HasSubstr("2 colour components"));
  EXPECT_THAT(decode_error(to_bytes("\xff\xd8\xff\xda\x00\x03\x01"sv)),
              HasSubstr("before any frame header"));
}

// Header of a 65500 x 65500 picture: refused by the limit, and below a raised limit it costs no
// memory, since there are no rows behind it.
TEST(JpegDecode, AHugeHeaderIsRefusedBeforeAnythingIsAllocated) {
  Bytes encoded = encode_jpeg(ramp(16, 16, 3), 16, 16);
  const std::string_view text = to_text(encoded);
  const size_t frame = text.find("\xff\xc0"sv);
  ASSERT_NE(frame, std::string_view::npos);
  for (const size_t at : {frame + 5, frame + 7}) {
    encoded[at] = std::byte{0xff};
    encoded[at + 1] = std::byte{0xdc};
  }
  EXPECT_THAT(decode_error(encoded), HasSubstr("65500 x 65500 pixels, more than the limit"));
  DecodeOptions options;
  options.max_pixels = int64_t{1} << 40;
  encoded.resize(encoded.size() - 2);
  EXPECT_THAT(decode_error(encoded, options), HasSubstr("truncated"));
}

// Some thousands of empty scans over one picture would keep a core busy for minutes.
TEST(JpegDecode, TooManyScansAreRefused) {
  const Bytes plain = encode_jpeg(ramp(64, 64, 1), 64, 64, {.components = 1, .progressive = true});
  const std::string_view text = to_text(plain);
  const size_t last_scan = text.rfind("\xff\xda"sv);
  std::string many(text.substr(0, text.size() - 2));
  for (int i = 0; i < 1000; ++i) many += text.substr(last_scan, text.size() - 2 - last_scan);
  many += "\xff\xd9";
  EXPECT_THAT(decode_error(to_bytes(many)), HasSubstr("more than 500 scans"));
}

TEST(JpegDecode, ReadsOrientationFromExifAndXmp) {
  const std::vector<uint8_t> samples = ramp(16, 8, 3);
  for (int value = 1; value <= 8; ++value) {
    for (const bool little_endian : {true, false}) {
      const Bytes encoded = encode_jpeg(samples, 16, 8, {.app1 = exif_block(value, little_endian)});
      EXPECT_EQ(decode_image(encoded).exif_orientation, value);
      EXPECT_EQ(decode_image(encoded).width, 16);
      EXPECT_EQ(decode_image(encoded, {.apply_exif_orientation = true}).width, value < 5 ? 16 : 8);
    }
  }
  const std::string xmp("http://ns.adobe.com/xap/1.0/\0<x tiff:Orientation=\"6\"/>"sv);
  EXPECT_EQ(decode_image(encode_jpeg(samples, 16, 8, {.app1 = xmp})).exif_orientation, 6);
}

TEST(JpegDecode, BrokenExifIsIgnored) {
  const std::vector<uint8_t> samples = ramp(16, 8, 3);
  std::vector<std::string> blocks = {exif_block(0), exif_block(9), exif_block(77)};
  const std::string sound = exif_block(6);
  for (size_t length = 6; length + 6 < sound.size(); ++length) {
    blocks.push_back(sound.substr(0, length));
  }
  blocks.push_back(std::string("Exif\0\0garbage without a header"sv));
  std::string far = sound;
  far[10] = far[11] = far[12] = static_cast<char>(0xff);  // offset of the directory
  blocks.push_back(far);
  for (const std::string& block : blocks) {
    const DecodedImage image = decode_image(encode_jpeg(samples, 16, 8, {.app1 = block}),
                                            {.apply_exif_orientation = true});
    EXPECT_EQ(image.width, 16) << block.size();
  }
}

}  // namespace
}  // namespace cantilever::test
