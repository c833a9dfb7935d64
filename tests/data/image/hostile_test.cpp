// Damaged pictures: any outcome but a crash, a hang or a foreign exception. Run with sanitizers.

#include <gtest/gtest.h>
#include <webp/encode.h>

#include <random>

#include "cantilever/data/image/png_writer.h"
#include "tests/data/image/builders.h"
#include "tests/data/image/encoders.h"
#include "tests/data/image/support.h"

namespace cantilever::test {
namespace {

std::vector<Bytes> small_tiffs() {
  const std::string samples(size_t{9} * 7 * 3, '\x41');
  std::vector<Bytes> files;
  files.push_back(TiffBuilder(9, 7, 3, 8, 2).tag(274, {6}).strip(samples).bytes());
  TiffBuilder deflated = TiffBuilder(9, 7, 3, 8, 2).tag(259, {8}).tag(278, {4}).tag(317, {2});
  deflated.strip(PngBuilder::deflated(samples.substr(0, 108)));
  files.push_back(deflated.strip(PngBuilder::deflated(samples.substr(108))).bytes());
  TiffBuilder planar = TiffBuilder(9, 7, 3, 8, 2).tag(284, {2}).tag(259, {8});
  for (int i = 0; i < 3; ++i) planar.strip(PngBuilder::deflated(samples.substr(0, 63)));
  files.push_back(planar.bytes());
  TiffBuilder tiled = TiffBuilder(9, 7, 1, 8, 1).tiles(16, 16).tag(259, {8});
  files.push_back(tiled.strip(PngBuilder::deflated(std::string(256, '\x09'))).bytes());
  files.push_back(TiffBuilder(9, 7, 1, 4, 3)
                      .tag(320, std::vector<uint32_t>(48, 0x1234))
                      .strip(samples.substr(0, 35))
                      .bytes());
  const Bytes jpeg = encode_jpeg(std::vector<uint8_t>(size_t{16} * 8 * 3, 120), 16, 8);
  files.push_back(TiffBuilder(16, 8, 3, 8, 6)
                      .tag(259, {7})
                      .tag(530, {2, 2})
                      .strip(std::string(to_text(jpeg)))
                      .bytes());
  files.push_back(TiffBuilder(4, 4, 3, 8, 6)
                      .tag(259, {8})
                      .tag(530, {2, 2})
                      .strip(PngBuilder::deflated(samples.substr(0, 24)))
                      .bytes());
  return files;
}

std::vector<Bytes> small_pictures_of_other_formats() {
  const DecodedImage picture = synthetic_picture(33, 17);
  std::vector<Bytes> files = small_tiffs();
  const std::string indices(12, '\x05');
  const std::string palette(24, '\x33');
  files.push_back(GifBuilder{.global_palette = palette, .indices = indices}.bytes());
  files.push_back(GifBuilder{.local_palette = palette,
                             .before = GifBuilder::control(3),
                             .interlaced = true,
                             .indices = indices}
                      .bytes());
  files.push_back(BmpBuilder{.data = std::string(24, '\x21')}.bytes());
  files.push_back(BmpBuilder{.bits = 8,
                             .compression = 1,
                             .colours = 2,
                             .palette = palette.substr(0, 8),
                             .data = raw_bytes({3, 1, 0, 0, 0, 3, 1, 0, 1, 0, 0, 1})}
                      .bytes());
  files.push_back(to_bytes("P3 2 2 255 1 2 3 4 5 6 7 8 9 10 11 12"));
  for (const bool lossless : {false, true}) {
    uint8_t* out = nullptr;
    const size_t size = lossless ? WebPEncodeLosslessRGB(picture.pixels.data(), 33, 17, 99, &out)
                                 : WebPEncodeRGB(picture.pixels.data(), 33, 17, 99, 75, &out);
    files.push_back(to_bytes({reinterpret_cast<const char*>(out), size}));
    WebPFree(out);
  }
  return files;
}

std::vector<Bytes> small_pictures() {
  const DecodedImage picture = synthetic_picture(33, 17);
  std::vector<Bytes> files = {encode_png(picture.view())};
  for (const bool progressive : {false, true}) {
    for (const bool arithmetic : {false, true}) {
      files.push_back(encode_jpeg(picture.pixels, 33, 17,
                                  {.progressive = progressive,
                                   .arithmetic = arithmetic,
                                   .restarts = true,
                                   .app1 = exif_block(6)}));
    }
  }
  std::vector<uint8_t> cmyk(picture.pixels.begin(), picture.pixels.begin() + 16 * 16 * 4);
  files.push_back(encode_jpeg(cmyk, 16, 16, {.components = 4}));
  std::string rows;
  // Rows and bytes a row of the seven passes of 20 x 20 pixels of four bits.
  constexpr std::pair<int, size_t> kPasses[] = {{3, 2}, {3, 1},  {2, 3},  {5, 3},
                                                {5, 5}, {10, 5}, {10, 10}};
  for (const auto& [count, size] : kPasses) {
    for (int row = 0; row < count; ++row) {
      rows += static_cast<char>(row % 5) + std::string(size, '\x3c');
    }
  }
  files.push_back(PngBuilder(20, 20, 4, 3, true)
                      .chunk("PLTE", std::string(24, '\x55'))
                      .chunk("tRNS", std::string(3, '\0'))
                      .chunk("eXIf", exif_block(8).substr(6))
                      .data(rows)
                      .end()
                      .bytes());
  for (Bytes& file : small_pictures_of_other_formats()) files.push_back(std::move(file));
  return files;
}

// The Error's text is not looked at: which damage is seen first depends on the bytes.
void decode_either_way(std::span<const std::byte> bytes, int& decoded) {
  try {
    const DecodedImage image =
        decode_image(bytes, {.apply_exif_orientation = true, .max_pixels = 1 << 22});
    ASSERT_EQ(image.pixels.size(),
              static_cast<size_t>(image.width) * static_cast<size_t>(image.height) * 3);
    ++decoded;
  } catch (const Error&) {
  }
}

TEST(Hostile, TheSmallPicturesAreSound) {
  for (const Bytes& file : small_pictures()) EXPECT_EQ(decode_error(file), "");
}

TEST(Hostile, EveryTruncation) {
  int decoded = 0;
  for (const Bytes& file : small_pictures()) {
    for (size_t length = 0; length < file.size(); ++length) {
      // A copy of its own, so that reading past the end is seen.
      const Bytes part(file.begin(), file.begin() + static_cast<ptrdiff_t>(length));
      decode_either_way(part, decoded);
    }
  }
  EXPECT_GT(decoded, 0);  // an end mark may be missing
}

TEST(Hostile, RandomByteFlips) {
  std::mt19937 random(20240611);
  int decoded = 0;
  int tries = 0;
  for (const Bytes& file : small_pictures()) {
    for (int round = 0; round < 1500; ++round, ++tries) {
      Bytes damaged = file;
      const auto flips = 1 + random() % 6;
      for (size_t i = 0; i < flips; ++i) {
        damaged[random() % damaged.size()] = static_cast<std::byte>(random() & 255U);
      }
      decode_either_way(damaged, decoded);
    }
  }
  EXPECT_GT(decoded, tries / 20);
  EXPECT_LT(decoded, tries);
}

// Damage behind a sound check sum, where zlib and the filters meet it.
TEST(Hostile, RandomPngRows) {
  std::mt19937 random(7);
  int decoded = 0;
  constexpr std::pair<int, int> kKinds[] = {{1, 0}, {2, 0},  {4, 0},  {8, 0}, {16, 0},
                                            {8, 2}, {16, 2}, {1, 3},  {2, 3}, {4, 3},
                                            {8, 3}, {8, 4},  {16, 4}, {8, 6}, {16, 6}};
  for (int round = 0; round < 600; ++round) {
    const auto [depth, colour] = kKinds[random() % std::size(kKinds)];
    const auto width = static_cast<uint32_t>(1 + random() % 40);
    const auto height = static_cast<uint32_t>(1 + random() % 20);
    std::string rows;
    const size_t size = random() % 4000;
    for (size_t i = 0; i < size; ++i) rows += static_cast<char>(random() % 5);
    PngBuilder png(width, height, depth, colour, random() % 2 == 0);
    png.chunk("PLTE", std::string(random() % 770, '\x21'));
    decode_either_way(png.data(rows).end().bytes(), decoded);
  }
  EXPECT_GT(decoded, 100);
}

}  // namespace
}  // namespace cantilever::test
