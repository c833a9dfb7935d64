// Against what Pillow 13 and torchvision 0.26 made, see make_transform_golden.py.

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

#include "cantilever/data/image/transform.h"
#include "tests/data/image/support.h"

namespace cantilever::test {
namespace {

TEST(Golden, DecodedPicturesEqualPillow) {
  GoldenReader golden("decode.bin");
  const int count = golden.number();
  for (int i = 0; i < count; ++i) {
    const std::string name(golden.block());
    SCOPED_TRACE(name);
    const Bytes encoded = to_bytes(golden.block());
    DecodeOptions options;
    options.apply_exif_orientation = golden.number() != 0;
    const DecodedImage image = decode_image(encoded, options);
    const int width = golden.number();
    const int height = golden.number();
    ASSERT_EQ(image.width, width);
    ASSERT_EQ(image.height, height);
    const std::string_view pixels = golden.take(static_cast<size_t>(width * height * 3));
    EXPECT_EQ(0, std::memcmp(image.pixels.data(), pixels.data(), pixels.size()));
  }
  EXPECT_GE(count, 20);
  EXPECT_TRUE(golden.at_end());
}

TEST(Golden, TransformedPicturesEqualTorchvision) {
  GoldenReader golden("transform.bin");
  const int count = golden.number();
  TransformScratch scratch;
  float largest = 0.0F;
  for (int i = 0; i < count; ++i) {
    const int width = golden.number();
    const int height = golden.number();
    TransformOptions options;
    options.side = golden.number();
    options.semantics = golden.number() == 0 ? PixelSemantics::kTvFloatAa : PixelSemantics::kTvU8;
    SCOPED_TRACE(concat(width, " x ", height, " to ", options.side, ", ",
                        pixel_semantics_name(options.semantics)));
    const DecodedImage image = synthetic_picture(width, height);
    std::vector<float> expected(static_cast<size_t>(3 * options.side * options.side));
    std::memcpy(expected.data(), golden.take(expected.size() * 4).data(), expected.size() * 4);
    std::vector<float> found(expected.size());
    transform_image(image.view(), options, scratch, found);
    for (size_t k = 0; k < found.size(); ++k) {
      largest = std::max(largest, std::abs(found[k] - expected[k]));
    }
    ASSERT_LT(largest, 2e-5F);  // about 0.001 of a level; kTvU8 is equal or a whole level off
  }
  EXPECT_GE(count, 20);
  EXPECT_TRUE(golden.at_end());
}

}  // namespace
}  // namespace cantilever::test
