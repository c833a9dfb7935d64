// Every picture of the corpus against the table of its sums.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <sstream>

#include "cantilever/base/file.h"
#include "cantilever/data/image/sniff.h"
#include "cantilever/data/image/transform.h"
#include "tests/data/image/sha256.h"
#include "tests/data/image/support.h"

namespace cantilever::test {
namespace {

struct ManifestRow {
  std::string file;
  std::string format;
  std::string mode;
  std::string outcome;  // "ok" or "error:..."
  std::string sum;
};

std::filesystem::path odd_images() {
  return std::filesystem::path(corpus()) / "odd-images";
}

std::vector<ManifestRow> read_manifest() {
  std::ifstream in(odd_images() / "MANIFEST.tsv");
  std::vector<ManifestRow> rows;
  std::string line;
  std::getline(in, line);
  while (std::getline(in, line)) {
    std::vector<std::string> cells;
    std::istringstream cell_stream(line);
    for (std::string cell; std::getline(cell_stream, cell, '\t');) cells.push_back(cell);
    cells.resize(15);
    ManifestRow row = {cells[0], cells[6], cells[7], cells[10], cells[13]};
    rows.push_back(row);
  }
  return rows;
}

// The table was made with Pillow 9.4. Pillow 13 reads this file: it forgives an EXIF block that is
// cut short, and so do we. The sum is that of Pillow 13.
void apply_pillow_13(ManifestRow& row) {
  if (row.file == "truncated_exif_dpi.jpg") {
    row.outcome = "ok";
    row.format = "JPEG";
    row.mode = "RGB";
    row.sum = "cd1fb537c37464dc6bc2db970eb5416d81a8d9a72df3ecc98e44d3a083380fef";
  }
  if (row.mode == "I") row.mode = "I;16";  // its name for 16-bit grey
}

TEST(Corpus, Sha256OfAKnownText) {
  const std::vector<uint8_t> text = {'a', 'b', 'c'};
  EXPECT_EQ(Sha256::of(text), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
}

TEST(Corpus, OddPicturesHaveTheOutcomeOfPillow13) {
  SKIP_WITHOUT_CORPUS();
  std::map<std::string, int> seen;
  for (ManifestRow row : read_manifest()) {
    SCOPED_TRACE(row.file);
    apply_pillow_13(row);
    const MappedFile file(odd_images() / "files" / row.file);
    if (sniff_picture_format(file.bytes()) == PictureFormat::kOther) {
      ++seen["foreign"];
      EXPECT_NE(row.outcome, "ok");
      EXPECT_THAT(decode_error(file.bytes()), testing::HasSubstr(" are read, convert it"));
      continue;
    }
    if (row.outcome != "ok") {
      ++seen["refused"];
      EXPECT_NE(decode_error(file.bytes()), "");
      continue;
    }
    ++seen["decoded"];
    ASSERT_EQ(decode_error(file.bytes()), "");
    const DecodedImage image = decode_image(file.bytes());
    EXPECT_EQ(Sha256::of(image.pixels), row.sum);
    EXPECT_EQ(image.mode, row.mode);
    EXPECT_EQ(image.format, row.format);
    ++seen[image.format];
  }
  EXPECT_GE(seen["refused"], 15);
  EXPECT_GE(seen["decoded"], 100);
  EXPECT_GE(seen["WEBP"], 17);
  EXPECT_GE(seen["GIF"], 3);
  EXPECT_GE(seen["BMP"], 2);
  EXPECT_GE(seen["TIFF"], 3);
  EXPECT_EQ(seen["ICO"], 1);
}

// With the table not in play: every file, turned upright and transformed in both ways.
TEST(Corpus, EveryOddFileIsDecodedOrRefusedByName) {
  SKIP_WITHOUT_CORPUS();
  TransformScratch scratch;
  TransformOptions options;
  options.side = 32;
  std::vector<float> out(3 * 32 * 32);
  int files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(odd_images() / "files")) {
    SCOPED_TRACE(entry.path().filename().string());
    const MappedFile file(entry.path());
    // A copy of its own, so that a sanitizer sees reading past the end.
    const Bytes bytes(file.bytes().begin(), file.bytes().end());
    ++files;
    try {
      const DecodedImage image = decode_image(bytes, {.apply_exif_orientation = true});
      for (const auto semantics : {PixelSemantics::kTvFloatAa, PixelSemantics::kTvU8}) {
        options.semantics = semantics;
        transform_image(image.view(), options, scratch, out);
      }
    } catch (const Error& error) {
      EXPECT_GT(std::string(error.what()).size(), 10U);
    }
  }
  EXPECT_GE(files, 120);
}

// R01: after turning, the rectangle that is stored as 2 x 1 stands 1 x 2.
TEST(Corpus, PicturesWithOrientationStandUpright) {
  SKIP_WITHOUT_CORPUS();
  const MappedFile file(odd_images() / "files" / "orientation_rectangle.jpg");
  const DecodedImage stored = decode_image(file.bytes());
  const DecodedImage upright = decode_image(file.bytes(), {.apply_exif_orientation = true});
  EXPECT_EQ(stored.exif_orientation, 8);
  EXPECT_EQ(stored.width, 2);
  EXPECT_EQ(upright.width, 1);
  EXPECT_EQ(upright.height, 2);
}

TEST(Corpus, CaptionPicturesDecode) {
  SKIP_WITHOUT_CORPUS();
  int decoded = 0;
  for (const char* folder : {"stamps", "flags", "coco-open"}) {
    int in_folder = 0;
    const auto root = std::filesystem::path(corpus()) / "captions" / folder;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(root)) {
      if (!entry.is_regular_file() || in_folder >= 60) continue;
      const MappedFile file(entry.path());
      if (sniff_picture_format(file.bytes()) == PictureFormat::kOther) continue;
      EXPECT_EQ(decode_error(file.bytes()), "") << entry.path();
      ++in_folder;
    }
    decoded += in_folder;
  }
  EXPECT_GE(decoded, 60);
}

}  // namespace
}  // namespace cantilever::test
