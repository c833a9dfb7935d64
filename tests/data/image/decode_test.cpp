#include "cantilever/data/image/decode.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cantilever/data/image/exif.h"
#include "tests/data/image/support.h"

namespace cantilever::test {
namespace {

using std::string_view_literals::operator""sv;
using testing::AllOf;
using testing::HasSubstr;

TEST(Decode, ForeignBytesAreNamed) {
  const std::vector<std::pair<std::string_view, std::string_view>> cases = {
      {""sv, "an empty file"},
      {"\0\0\2\0\1\0"sv, "a Windows cursor"},
      {"RIFF\0\0\0\0AVI LIST"sv, "an AVI video"},
      {"\x1a\x45\xdf\xa3"sv, "a Matroska or WebM video"},
      {"\0\0\0\x1c"
       "ftypisom"sv,
       "an MP4 or QuickTime video"},
      {"\0\0\0\x0cjP  \r\n\x87\n"sv, "a JPEG 2000 picture"},
      {"8BPS\0\1"sv, "a Photoshop document"},
      {"%!PS-Adobe-3.0"sv, "a PostScript document"},
      {"P7\nWIDTH 1"sv, "a PAM picture"},
      {"\0\0\0\x1c"
       "ftypavif"sv,
       "an AVIF picture"},
      {"\0\0\0\x1c"
       "ftypheic"sv,
       "a HEIC picture"},
      {"\0\0\0\x0cJXL \r\n\x87\n"sv, "a JPEG XL picture"},
      {"\n <!DOCTYPE html><html>404"sv, "an HTML page"},
      {"<svg xmlns=\"x\"/>"sv, "an SVG drawing"},
      {"<?xml version=\"1.0\"?><svg/>"sv, "an SVG drawing"},
      {"{\"error\": 404}"sv, "JSON text"},
      {"no such file\n"sv, "text beginning 'no such file"},
      {"%PDF-1.7"sv, "a PDF document"},
      {"\x89PNG\n\n\x1a\n"sv, "a PNG with a damaged signature"},
      {"\xff\xd8"sv, "a JPEG cut off"},
      {"\0\0\0\0\0\0\0\0\0"sv, "zero bytes only"},
      {"\x01\x02\x03\xf0"sv, "unknown data beginning 01 02 03 f0"},
  };
  for (const auto& [bytes, expected] : cases) {
    EXPECT_THAT(decode_error(to_bytes(bytes)),
                AllOf(HasSubstr(std::string(expected)), HasSubstr("JPEG, PNG, WebP, GIF, TIFF")));
  }
}

TEST(Decode, AGitLfsPointerIsNamedWithTheSizeOfTheRealFile) {
  const std::string_view pointer =
      "version https://git-lfs.github.com/spec/v1\n"
      "oid sha256:4d7a214614ab2935c943f9e0ff69d22eadbb8f32b1258daaa5e2ca24d17e2393\n"
      "size 12345\n";
  EXPECT_THAT(decode_error(to_bytes(pointer)), AllOf(HasSubstr("LFS"), HasSubstr("12345")));
}

// 3 x 2 pixels numbered 0..5, and what PIL.ImageOps.exif_transpose makes of each orientation.
TEST(Decode, OrientationsTurnAsPillow) {
  const std::vector<std::vector<int>> expected = {
      {0, 1, 2, 3, 4, 5}, {2, 1, 0, 5, 4, 3}, {5, 4, 3, 2, 1, 0}, {3, 4, 5, 0, 1, 2},
      {0, 3, 1, 4, 2, 5}, {3, 0, 4, 1, 5, 2}, {5, 2, 4, 1, 3, 0}, {2, 5, 1, 4, 0, 3}};
  for (int orientation = 1; orientation <= 8; ++orientation) {
    DecodedImage image;
    image.width = 3;
    image.height = 2;
    for (uint8_t i = 0; i < 6; ++i) image.pixels.insert(image.pixels.end(), {i, 100, i});
    apply_orientation(orientation, image);
    EXPECT_EQ(image.width, orientation < 5 ? 3 : 2);
    EXPECT_EQ(image.height, orientation < 5 ? 2 : 3);
    std::vector<int> found;
    for (size_t i = 0; i < image.pixels.size(); i += 3) {
      found.push_back(image.pixels[i]);
      EXPECT_EQ(image.pixels[i + 1], 100);
      EXPECT_EQ(image.pixels[i + 2], image.pixels[i]);
    }
    EXPECT_EQ(found, expected[static_cast<size_t>(orientation - 1)]) << orientation;
  }
}

}  // namespace
}  // namespace cantilever::test
