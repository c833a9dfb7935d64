// Damaged pictures: any outcome but a crash, a hang or a foreign exception. Run with sanitizers.

#include <gtest/gtest.h>

#include <random>

#include "cantilever/data/image/png_writer.h"
#include "tests/data/image/encoders.h"
#include "tests/data/image/support.h"

namespace cantilever::test {
namespace {

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
