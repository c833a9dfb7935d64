// The vector and the portable bodies of the fast JPEG path, one against the other.

#include <gtest/gtest.h>

#include <array>

#include "tests/data/image/jpeg_encoder.h"

namespace cantilever::test {
namespace {

constexpr int kColumns = 333;
constexpr int kMargin = 64;

std::vector<uint8_t> random_row(std::mt19937& random) {
  std::vector<uint8_t> row(kColumns + 2 * kMargin);
  for (uint8_t& sample : row) sample = static_cast<uint8_t>(random());
  return row;
}

TEST(JpegKernels, InverseTransform) {
  std::mt19937 random(1);
  for (int i = 0; i < 20000; ++i) {
    JpegBlockPair pair = {};
    JpegPairQuantisation quantisation;
    const auto density = static_cast<uint32_t>(1 + random() % 64);
    const int range = 1 << (1 + random() % 15);
    const auto coarseness = i % 50 == 0 ? 65536U : static_cast<uint32_t>(1 + random() % 255);
    for (uint16_t& factor : quantisation) factor = static_cast<uint16_t>(random() % coarseness + 1);
    const size_t filled = i % 4 == 0 ? 16 : 128;  // the first row of both, or all
    for (size_t k = 0; k < filled; ++k) {
      const int value = static_cast<int>(random() % static_cast<uint32_t>(2 * range)) - range;
      if (random() % density == 0) pair.coefficients[k] = static_cast<int16_t>(value);
    }
    pair.coefficients[JpegBlockPair::kLast] = 1;
    if (i % 7 == 0) {
      const int16_t first = pair.coefficients[0];
      const int16_t second = pair.coefficients[8];
      pair = {};
      pair.coefficients[0] = first;
      pair.coefficients[8] = second;
    }
    JpegBlockPair copy = pair;
    std::array<uint8_t, 256> best = {};
    std::array<uint8_t, 256> portable = {};
    jpeg_pair_transform()(pair, quantisation, {best.data(), 16}, {best.data() + 8, 16});
    portable_jpeg_pair_transform()(copy, quantisation, {portable.data(), 16},
                                   {portable.data() + 8, 16});
    ASSERT_EQ(best, portable) << i;
    for (size_t k = 0; k < 128; ++k) ASSERT_EQ(pair.coefficients[k], 0);
  }
}

// All three numbers of a pixel, every value of two of them.
TEST(JpegKernels, EveryColour) {
  std::array<uint8_t, 256 + 64> luma = {};
  std::array<uint8_t, 256 + 64> blue = {};
  std::array<uint8_t, 256 + 64> red = {};
  std::array<uint8_t, 3 * (256 + 64)> best = {};
  std::array<uint8_t, 3 * (256 + 64)> portable = {};
  for (int y : {0, 1, 77, 128, 200, 255}) {
    for (int cb = 0; cb < 256; ++cb) {
      for (size_t cr = 0; cr < 256; ++cr) {
        luma[cr] = static_cast<uint8_t>(y);
        blue[cr] = static_cast<uint8_t>(cb);
        red[cr] = static_cast<uint8_t>(cr);
      }
      jpeg_color_kernels().ycc_to_rgb(luma.data(), blue.data(), red.data(), 256, best.data());
      portable_jpeg_color_kernels().ycc_to_rgb(luma.data(), blue.data(), red.data(), 256,
                                               portable.data());
      ASSERT_TRUE(std::equal(best.begin(), best.begin() + 768, portable.begin())) << y << " " << cb;
    }
  }
}

TEST(JpegKernels, Upsampling) {
  std::mt19937 random(2);
  const JpegColorKernels& best = jpeg_color_kernels();
  const JpegColorKernels& portable = portable_jpeg_color_kernels();
  for (int count = 1; count <= kColumns; ++count) {
    const std::vector<uint8_t> first = random_row(random);
    const std::vector<uint8_t> second = random_row(random);
    std::vector<uint8_t> a(3 * (kColumns + kMargin));
    std::vector<uint8_t> b(3 * (kColumns + kMargin));
    const auto expect_equal = [&](int length, const char* what) {
      ASSERT_TRUE(std::equal(a.begin(), a.begin() + length, b.begin())) << what << " " << count;
    };
    best.upsample_across(first.data() + kMargin, count, a.data());
    portable.upsample_across(first.data() + kMargin, count, b.data());
    expect_equal(2 * count, "across");
    best.upsample_both(first.data() + kMargin, second.data() + kMargin, count, a.data());
    portable.upsample_both(first.data() + kMargin, second.data() + kMargin, count, b.data());
    expect_equal(2 * count, "both");
    for (const int bias : {1, 2}) {
      best.upsample_down(first.data(), second.data(), bias, count, a.data());
      portable.upsample_down(first.data(), second.data(), bias, count, b.data());
      expect_equal(count, "down");
    }
    best.grey_to_rgb(first.data(), count, a.data());
    portable.grey_to_rgb(first.data(), count, b.data());
    expect_equal(3 * count, "grey");
  }
}

TEST(JpegKernels, Unstuffing) {
  std::mt19937 random(3);
  JpegScan best;
  JpegScan portable;
  for (int i = 0; i < 5000; ++i) {
    std::vector<uint8_t> bytes(random() % 300);
    for (uint8_t& byte : bytes) byte = random() % 20 == 0 ? 0xff : static_cast<uint8_t>(random());
    for (size_t at = 1; at < bytes.size(); ++at) {
      if (bytes[at - 1] == 0xff) bytes[at] = random() % 50 == 0 ? bytes[at] : 0;
    }
    if (random() % 2 == 0) bytes.insert(bytes.end(), {0xff, 0xd9, 0x11});
    const bool is_good = unstuff_jpeg_scan(bytes, best);
    ASSERT_EQ(is_good, unstuff_jpeg_scan_portable(bytes, portable));
    if (!is_good) continue;
    ASSERT_EQ(best.ends, portable.ends);
    const auto length = static_cast<ptrdiff_t>(best.ends.back());
    ASSERT_TRUE(
        std::equal(best.bytes.begin(), best.bytes.begin() + length, portable.bytes.begin()));
  }
}

TEST(JpegKernels, RestartMarkersMustCount) {
  JpegScan scan;
  const std::vector<uint8_t> sound = {1, 0xff, 0, 2, 0xff, 0xd0, 3, 0xff, 0xd1, 4, 0xff, 0xd9, 5};
  ASSERT_TRUE(unstuff_jpeg_scan(sound, scan));
  EXPECT_EQ(scan.ends, (std::vector<size_t>{3, 4, 5}));
  EXPECT_EQ(scan.bytes[1], 0xff);
  EXPECT_EQ(scan.bytes[3], 3);
  for (size_t at : {size_t{5}, size_t{8}, size_t{11}}) {
    std::vector<uint8_t> wrong = sound;
    ++wrong[at];
    EXPECT_FALSE(unstuff_jpeg_scan(wrong, scan)) << at;
  }
  for (size_t length = 0; length < 12; ++length) {
    EXPECT_FALSE(unstuff_jpeg_scan(std::span(sound.data(), length), scan)) << length;
  }
}

JpegCodeLengths code_lengths(const std::array<uint8_t, 16>& counts,
                             const std::vector<uint8_t>& symbols) {
  return {counts.data(), symbols.data(), static_cast<int>(symbols.size())};
}

TEST(JpegKernels, CodesThatLibjpegRefuses) {
  auto table = std::make_unique<JpegAcTable>();
  // Two codes of one bit: the second would be all ones.
  EXPECT_FALSE(build_jpeg_ac_table(code_lengths({2}, {0, 1}), *table));
  EXPECT_TRUE(build_jpeg_ac_table(code_lengths({1}, {0}), *table));
  EXPECT_TRUE(build_jpeg_ac_table(code_lengths({1, 1}, {0, 1}), *table));
  EXPECT_FALSE(build_jpeg_ac_table(code_lengths({1, 2}, {0, 1, 2}), *table));
  EXPECT_FALSE(build_jpeg_ac_table(code_lengths({1}, {0x0b}), *table));  // eleven bits
  EXPECT_FALSE(build_jpeg_ac_table(code_lengths({1}, {0x30}), *table));  // zeros to nowhere
  auto dc = std::make_unique<JpegDcTable>();
  EXPECT_TRUE(build_jpeg_dc_table(code_lengths({1}, {11}), *dc));
  EXPECT_FALSE(build_jpeg_dc_table(code_lengths({1}, {12}), *dc));
}

// One coefficient in the table, one computed from the bits behind it.
TEST(JpegKernels, TwoCoefficientsInOneLookup) {
  auto table = std::make_unique<JpegAcTable>();
  // 0: one value bit, no zeros; 10: end; 110: two value bits behind three zeros.
  ASSERT_TRUE(build_jpeg_ac_table(code_lengths({1, 1, 1}, {0x01, 0x00, 0x32}), *table));
  const auto entry = [&table](uint32_t bits) { return table->entries[bits]; };
  const JpegAcEntry joined = entry(0b01'110'01'0000);
  EXPECT_EQ(joined.first_value, 1);
  EXPECT_EQ(joined.first_step, 1);
  EXPECT_EQ(joined.step, 5);
  EXPECT_EQ(joined.value_begin, 5);
  EXPECT_EQ(joined.value_shift, 62);
  EXPECT_EQ(joined.sign_bits, -4);
  EXPECT_EQ(joined.total, 7);
  const JpegAcEntry ended = entry(0b00'10'0000000);
  EXPECT_EQ(ended.first_value, -1);
  EXPECT_EQ(ended.step, 1 + kJpegBlockEnd);
  EXPECT_EQ(ended.total, 4);
  EXPECT_EQ(entry(0b111'00000000).total, 0);
}

}  // namespace
}  // namespace cantilever::test
