#include "cantilever/data/image/webp.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <webp/encode.h>

#include <atomic>
#include <thread>

#include "tests/data/image/builders.h"
#include "tests/data/image/encoders.h"

namespace cantilever::test {
namespace {

using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;

// The file of one chunk that libwebp writes.
std::string encode(const std::vector<uint8_t>& samples, int width, int height, bool has_alpha,
                   bool lossless) {
  WebPConfig config;
  WebPPicture picture;
  CANTILEVER_CHECK(WebPConfigInit(&config) != 0 && WebPPictureInit(&picture) != 0, "libwebp");
  config.lossless = lossless ? 1 : 0;
  config.exact = 1;
  picture.use_argb = 1;
  picture.width = width;
  picture.height = height;
  if (has_alpha) {
    WebPPictureImportRGBA(&picture, samples.data(), width * 4);
  } else {
    WebPPictureImportRGB(&picture, samples.data(), width * 3);
  }
  WebPMemoryWriter writer;
  WebPMemoryWriterInit(&writer);
  picture.writer = WebPMemoryWrite;
  picture.custom_ptr = &writer;
  CANTILEVER_CHECK(WebPEncode(&config, &picture) != 0, "libwebp cannot encode");
  std::string file(reinterpret_cast<const char*>(writer.mem), writer.size);
  WebPMemoryWriterClear(&writer);
  WebPPictureFree(&picture);
  return file;
}

std::string chunk(std::string_view name, std::string body) {
  const size_t size = body.size();
  if (size % 2 != 0) body += '\0';
  return std::string(name) + little_endian(size, 4) + body;
}

std::string riff(const std::string& chunks) {
  return "RIFF" + little_endian(4 + chunks.size(), 4) + "WEBP" + chunks;
}

// The header of an extended file.
std::string extended(int flags, uint64_t width, uint64_t height) {
  return chunk("VP8X", raw_bytes({flags, 0, 0, 0}) + little_endian(width - 1, 3) +
                           little_endian(height - 1, 3));
}

constexpr int kHasAnimation = 2;
constexpr int kHasXmp = 4;
constexpr int kHasExif = 8;

// A frame of an animation around the picture chunks of a file.
std::string frame(const std::string& file, uint64_t x, uint64_t y, uint64_t width,
                  uint64_t height) {
  return chunk("ANMF", little_endian(x / 2, 3) + little_endian(y / 2, 3) +
                           little_endian(width - 1, 3) + little_endian(height - 1, 3) +
                           little_endian(100, 3) + raw_bytes({0}) + file.substr(12));
}

TEST(WebP, LosslessIsExact) {
  const DecodedImage picture = synthetic_picture(19, 7);
  const DecodedImage image = decode_image(to_bytes(encode(picture.pixels, 19, 7, false, true)));
  EXPECT_EQ(image.format, "WEBP");
  EXPECT_EQ(image.mode, "RGB");
  EXPECT_EQ(image.width, 19);
  EXPECT_EQ(image.height, 7);
  EXPECT_EQ(image.pixels, picture.pixels);
}

TEST(WebP, LossyIsNear) {
  std::vector<uint8_t> flat;
  for (int i = 0; i < 20 * 10; ++i) flat.insert(flat.end(), {200, 100, 50});
  const DecodedImage image = decode_image(to_bytes(encode(flat, 20, 10, false, false)));
  EXPECT_EQ(image.mode, "RGB");
  for (size_t i = 0; i < image.pixels.size(); ++i) EXPECT_NEAR(image.pixels[i], flat[i], 4);
}

// R05: the colours under transparent pixels show.
TEST(WebP, AlphaIsDroppedAndNotBlended) {
  std::vector<uint8_t> samples;
  for (int i = 0; i < 8 * 4; ++i) {
    samples.insert(samples.end(), {10, 20, 30, static_cast<uint8_t>(i < 16 ? 0 : 255)});
  }
  const DecodedImage image = decode_image(to_bytes(encode(samples, 8, 4, true, true)));
  EXPECT_EQ(image.mode, "RGBA");
  for (int y = 0; y < 4; ++y) EXPECT_THAT(pixel_at(image, 3, y), ElementsAre(10, 20, 30));
}

TEST(WebP, AnAnimationShowsItsFirstFrameOnABlackCanvas) {
  const std::vector<uint8_t> first(4 * 2 * 3, 90);
  const std::vector<uint8_t> second(8 * 6 * 3, 200);
  const std::string file =
      riff(extended(kHasAnimation, 8, 6) + chunk("ANIM", raw_bytes({255, 255, 255, 255, 0, 0})) +
           frame(encode(first, 4, 2, false, true), 2, 4, 4, 2) +
           frame(encode(second, 8, 6, false, true), 0, 0, 8, 6));
  const DecodedImage image = decode_image(to_bytes(file));
  EXPECT_EQ(image.width, 8);
  EXPECT_EQ(image.height, 6);
  for (int y = 0; y < 6; ++y) {
    for (int x = 0; x < 8; ++x) {
      const bool is_inside = x >= 2 && x < 6 && y >= 4;
      EXPECT_THAT(pixel_at(image, x, y), Each(is_inside ? 90 : 0)) << x << ' ' << y;
    }
  }
}

TEST(WebP, OrientationOfExifAndXmp) {
  const std::string picture = encode(synthetic_picture(6, 4).pixels, 6, 4, false, true).substr(12);
  const std::string xmp = "<x tiff:Orientation=\"8\"/>";
  const auto with = [&](int flags, const std::string& more) {
    return to_bytes(riff(extended(flags, 6, 4) + picture + more));
  };
  for (const std::string& block : {exif_block(6), exif_block(6).substr(6)}) {
    const Bytes file = with(kHasExif, chunk("EXIF", block));
    EXPECT_EQ(decode_image(file).exif_orientation, 6);
    EXPECT_EQ(decode_image(file).width, 6);
    EXPECT_EQ(decode_image(file, {.apply_exif_orientation = true}).width, 4);
  }
  EXPECT_EQ(decode_image(with(kHasXmp, chunk("XMP ", xmp))).exif_orientation, 8);
  const Bytes both = with(kHasXmp | kHasExif, chunk("EXIF", exif_block(3)) + chunk("XMP ", xmp));
  EXPECT_EQ(decode_image(both).exif_orientation, 3);
  EXPECT_EQ(decode_image(with(0, "")).exif_orientation, 1);
}

TEST(WebP, Refusals) {
  const std::string whole = encode(synthetic_picture(30, 20).pixels, 30, 20, false, true);
  for (const size_t length : {size_t{12}, size_t{20}, size_t{29}, whole.size() - 1}) {
    EXPECT_THAT(decode_error(to_bytes(whole.substr(0, length))), HasSubstr("WebP: ")) << length;
  }
  std::string broken = whole;
  for (size_t i = 40; i < broken.size(); ++i) broken[i] = '\x55';
  EXPECT_THAT(decode_error(to_bytes(broken)), HasSubstr("WebP: "));
  EXPECT_THAT(decode_error(to_bytes(riff(chunk("VP9 ", "abcd")))), HasSubstr("WebP: "));
  EXPECT_THAT(decode_error(to_bytes(whole), {.max_pixels = 599}), HasSubstr("limit of 599 pixels"));
  // What stands behind the file is none of its business.
  EXPECT_EQ(decode_error(to_bytes(whole + "more")), "");
}

TEST(WebP, ThreadsDecodeAtOnce) {
  const DecodedImage picture = synthetic_picture(65, 33);
  const Bytes file = to_bytes(encode(picture.pixels, 65, 33, false, true));
  std::vector<std::thread> threads;
  std::atomic<int> equal = 0;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      for (int round = 0; round < 10; ++round) equal += decode_image(file).pixels == picture.pixels;
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(equal, 40);
}

}  // namespace
}  // namespace cantilever::test
