#include "cantilever/data/image/ppm.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/data/image/builders.h"

namespace cantilever::test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::vector<int> values(const std::string& text) {
  return pixel_values(decode_image(to_bytes(text)));
}

std::string error(const std::string& text) {
  return decode_error(to_bytes(text));
}

TEST(Ppm, Binary) {
  EXPECT_THAT(values("P6\n2 1\n255\nabcdef"), ElementsAre('a', 'b', 'c', 'd', 'e', 'f'));
  EXPECT_THAT(values("P5 # a comment\n2 1 255\nxy"), ElementsAre('x', 'x', 'x', 'y', 'y', 'y'));
  EXPECT_THAT(values("P4\n2 1\n\x40"), ElementsAre(255, 255, 255, 0, 0, 0));
  EXPECT_THAT(values("P6 1 1 100 " + raw_bytes({0, 50, 100})), ElementsAre(0, 128, 255));
  EXPECT_THAT(values("P6 1 1 65535 " + raw_bytes({255, 255, 128, 0, 0, 0})),
              ElementsAre(255, 128, 0));
  // Wide grey is clipped and not scaled.
  EXPECT_THAT(values("P5 2 1 65535 " + raw_bytes({0, 200, 1, 0})),
              ElementsAre(200, 200, 200, 255, 255, 255));
}

TEST(Ppm, Plain) {
  const DecodedImage bits = decode_image(to_bytes("P1\n3 1\n1 0#x\n1"));
  EXPECT_EQ(bits.format, "PPM");
  EXPECT_EQ(bits.mode, "1");
  EXPECT_THAT(pixel_values(bits), ElementsAre(0, 0, 0, 255, 255, 255, 0, 0, 0));
  EXPECT_THAT(values("P2\n2 1\n15\n0 15\n"), ElementsAre(0, 0, 0, 255, 255, 255));
  EXPECT_THAT(values("P3 1 1 255 7 8 9"), ElementsAre(7, 8, 9));
}

TEST(Ppm, FloatingPoint) {
  // 3.5, bottom row first; then 300 in big-endian order.
  EXPECT_THAT(values("Pf\n1 2\n-1.0\n" + raw_bytes({0, 0, 0x60, 0x40, 0, 0, 0, 0})),
              ElementsAre(0, 0, 0, 3, 3, 3));
  EXPECT_THAT(values("Pf\n1 1\n1.0\n" + raw_bytes({0x43, 0x96, 0, 0})), ElementsAre(255, 255, 255));
}

TEST(Ppm, Refusals) {
  EXPECT_THAT(error("P6\n2 1\n255\nabcde"), HasSubstr("truncated; 5 bytes"));
  EXPECT_THAT(error("P6\n2 1\n"), HasSubstr("truncated in its header"));
  EXPECT_THAT(error("P5 2 x 255 ab"), HasSubstr("no number in its header but 'x'"));
  EXPECT_THAT(error("P5 2 1 0 ab"), HasSubstr("a largest value of 0"));
  EXPECT_THAT(error("P2 2 1 9 8 10"), HasSubstr("no sample of 0 to 9 but '10'"));
  EXPECT_THAT(error("P2 2 1 9 8"), HasSubstr("PPM: truncated"));
  EXPECT_THAT(error("P1 2 1 12"), HasSubstr("no bit but '2'"));
  EXPECT_THAT(error("Pf 1 1 0 abcd"), HasSubstr("a scale of '0'"));
  EXPECT_THAT(error("P5 99999 99999 255 a"), HasSubstr("more than the limit"));
  EXPECT_THAT(error("P5 13000 13000 255 a"), HasSubstr("truncated; 1 bytes"));
  EXPECT_THAT(error("P2 13000 13000 255 1 2"), HasSubstr("PPM: truncated"));
  EXPECT_THAT(error("P9 1 1 255 a"), HasSubstr("not a picture that can be read"));
}

}  // namespace
}  // namespace cantilever::test
