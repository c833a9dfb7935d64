// The fast path against libjpeg: pixels, and that it was taken.

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>

#include "cantilever/base/file.h"
#include "cantilever/data/image/sniff.h"
#include "tests/data/image/jpeg_encoder.h"

namespace cantilever::test {
namespace {

constexpr std::array<std::pair<int, int>, 4> kSamplings = {{{1, 1}, {2, 1}, {1, 2}, {2, 2}}};

JpegKind random_kind(std::mt19937& random) {
  JpegKind kind;
  const auto chance = [&random](uint32_t one_of) { return random() % one_of == 0; };
  if (chance(4)) {
    kind.components = 1;
  } else {
    std::tie(kind.across, kind.down) = kSamplings[random() % 4];
  }
  kind.quality =
      chance(3) ? 90 + static_cast<int>(random() % 11) : 1 + static_cast<int>(random() % 100);
  kind.optimised = chance(2);
  if (chance(3)) kind.restart_interval = 1 + static_cast<int>(random() % 20);
  if (chance(6)) kind.restart_rows = 1;
  kind.jfif = !chance(5);
  kind.adobe = chance(5);
  kind.coarse = chance(20);
  if (chance(3)) {
    for (int& table : kind.dc_tables) table = chance(2) ? 1 : 0;
    for (int& table : kind.ac_tables) table = chance(2) ? 1 : 0;
  }
  return kind;
}

// libjpeg does not interpolate chroma of one or two columns, and neither do we.
bool is_for_fast_path(const JpegKind& kind, int width) {
  return kind.components == 1 || kind.across == 1 || width > 4;
}

void expect_equal_to_library(const Bytes& encoded, bool is_fast, JpegReader& reader,
                             std::mt19937& random) {
  const JpegOutcome expected = library_outcome(encoded);
  ASSERT_EQ(expected.error, "");
  const JpegOutcome whole = reader_outcome(reader, encoded);
  ASSERT_EQ(whole.error, "");
  ASSERT_TRUE(whole.pixels == expected.pixels);
  ASSERT_EQ(whole.fast_rows, is_fast ? expected.height : 0);
  for (int i = 0; i < 4; ++i) {
    const ImageWindow window = random_window(expected.width, expected.height, random);
    const JpegOutcome part = reader_outcome(reader, encoded, &window);
    ASSERT_EQ(part.error, "");
    ASSERT_TRUE(part.pixels == expected.part(window))
        << window.left << " " << window.top << " " << window.right << " " << window.bottom;
    ASSERT_EQ(part.fast_rows, is_fast ? window.bottom - window.top : 0);
  }
}

TEST(JpegFast, RandomPicturesAreEqualToLibjpeg) {
  std::mt19937 random(1);
  JpegReader best;
  JpegReader portable(portable_jpeg_kernels());
  for (int i = 0; i < 400; ++i) {
    const JpegKind kind = random_kind(random);
    const int limit = i % 10 == 0 ? 300 : 70;
    const int width = 1 + static_cast<int>(random() % static_cast<uint32_t>(limit));
    const int height = 1 + static_cast<int>(random() % static_cast<uint32_t>(limit));
    SCOPED_TRACE(concat("picture ", i, ": ", width, " x ", height, ", ", kind.name()));
    const Bytes encoded =
        encode_jpeg_kind(test_picture(width, height, kind.components, random), kind);
    const bool is_fast = is_for_fast_path(kind, width);
    expect_equal_to_library(encoded, is_fast, best, random);
    expect_equal_to_library(encoded, is_fast, portable, random);
    if (HasFatalFailure()) return;
  }
}

TEST(JpegFast, EveryWindowOfASmallPicture) {
  std::mt19937 random(2);
  JpegReader reader;
  for (const auto& [across, down] : kSamplings) {
    const JpegKind kind = {.across = across, .down = down, .quality = 80};
    const Bytes encoded = encode_jpeg_kind(test_picture(35, 37, 3, random), kind);
    const JpegOutcome expected = library_outcome(encoded);
    for (int first = 0; first < 35; ++first) {
      for (int end = first + 1; end <= 35; ++end) {
        const ImageWindow columns = {first, 12, end, 21};
        ASSERT_TRUE(reader_outcome(reader, encoded, &columns).pixels == expected.part(columns));
        const ImageWindow rows = {12, first, 21, end};
        ASSERT_TRUE(reader_outcome(reader, encoded, &rows).pixels == expected.part(rows));
      }
    }
  }
}

TEST(JpegFast, EverySmallSize) {
  std::mt19937 random(3);
  JpegReader reader;
  for (int size = 1; size <= 34; ++size) {
    for (const auto& [across, down] : kSamplings) {
      const JpegKind kind = {.across = across, .down = down, .quality = 95};
      const Bytes wide = encode_jpeg_kind(test_picture(size, 40, 3, random), kind);
      const Bytes high = encode_jpeg_kind(test_picture(40, size, 3, random), kind);
      ASSERT_TRUE(reader_outcome(reader, wide).pixels == library_outcome(wide).pixels) << size;
      ASSERT_TRUE(reader_outcome(reader, high).pixels == library_outcome(high).pixels) << size;
    }
  }
}

// Components may share codes in any way. Readers that are new, and one that has seen the others.
TEST(JpegFast, EveryWayToShareCodes) {
  std::mt19937 random(11);
  JpegReader seasoned;
  for (unsigned ways = 0; ways < 64; ++ways) {
    JpegKind kind = {.quality = 85, .optimised = true};
    for (size_t c = 0; c < 3; ++c) {
      kind.dc_tables[c] = static_cast<int>(ways >> c & 1U);
      kind.ac_tables[c] = static_cast<int>(ways >> (3 + c) & 1U);
    }
    SCOPED_TRACE(kind.name());
    const Bytes encoded = encode_jpeg_kind(test_picture(40, 30, 3, random), kind);
    JpegReader fresh;
    expect_equal_to_library(encoded, true, fresh, random);
    expect_equal_to_library(encoded, true, seasoned, random);
    if (HasFatalFailure()) return;
  }
}

// libjpeg refuses sides above 65500.
TEST(JpegFast, TheLongestSides) {
  std::mt19937 random(10);
  JpegReader reader;
  for (const int components : {1, 3}) {
    for (const bool is_wide : {false, true}) {
      const TestPicture picture =
          test_picture(is_wide ? 65500 : 1, is_wide ? 1 : 65500, components, random);
      Bytes encoded = encode_jpeg_kind(picture, {.components = components, .quality = 30});
      expect_equal_to_library(encoded, true, reader, random);
      // Four more have as many blocks.
      const size_t side = to_text(encoded).find("\xff\xc0") + (is_wide ? 7 : 5);
      ASSERT_EQ(encoded[side], std::byte{65500 >> 8});
      for (const int more : {65501, 65504, 65535}) {
        encoded[side] = static_cast<std::byte>(more >> 8);
        encoded[side + 1] = static_cast<std::byte>(more & 255);
        const JpegOutcome expected = library_outcome(encoded);
        EXPECT_NE(expected.error, "");
        EXPECT_EQ(reader_outcome(reader, encoded).error, expected.error) << more;
      }
    }
  }
}

TEST(JpegFast, GreyWithSamplingFactors) {
  std::mt19937 random(4);
  JpegReader reader;
  for (const auto& [across, down] : kSamplings) {
    const JpegKind kind = {.components = 1, .across = across, .down = down};
    const Bytes encoded = encode_jpeg_kind(test_picture(61, 45, 1, random), kind);
    expect_equal_to_library(encoded, true, reader, random);
  }
}

TEST(JpegFast, OtherKindsGoToLibjpeg) {
  std::mt19937 random(5);
  JpegReader reader;
  std::vector<JpegKind> kinds = {{.components = 4}, {.progressive = true}};
  for (const auto& [across, down] : {std::pair(4, 1), std::pair(1, 4), std::pair(3, 2)}) {
    kinds.push_back({.across = across, .down = down});
  }
  for (const JpegKind& kind : kinds) {
    SCOPED_TRACE(kind.name());
    const Bytes encoded = encode_jpeg_kind(test_picture(61, 45, kind.components, random), kind);
    expect_equal_to_library(encoded, false, reader, random);
  }
}

// Coefficients that no encoder makes, times large factors: every 16-bit number on the way wraps or
// clamps where libjpeg's does.
TEST(JpegFast, AbsurdCoefficients) {
  std::mt19937 random(6);
  JpegReader best;
  JpegReader portable(portable_jpeg_kernels());
  for (int i = 0; i < 60; ++i) {
    const JpegKind kind = {.quality = 1 + static_cast<int>(random() % 60), .optimised = true};
    JpegCompressor compressor;
    compressor.set(64, 64, kind);
    std::array<jvirt_barray_ptr, 3> arrays = {};
    for (auto& array : arrays) {
      array = (*compressor->mem->request_virt_barray)(reinterpret_cast<j_common_ptr>(&*compressor),
                                                      JPOOL_IMAGE, TRUE, 8, 8, 8);
    }
    jpeg_write_coefficients(&*compressor, arrays.data());
    const auto density = static_cast<uint32_t>(1 + random() % 20);
    const bool only_first_row = i % 3 == 0;
    for (auto& array : arrays) {
      for (JDIMENSION row = 0; row < 8; ++row) {
        JBLOCKARRAY blocks = (*compressor->mem->access_virt_barray)(
            reinterpret_cast<j_common_ptr>(&*compressor), array, row, 1, TRUE);
        for (int b = 0; b < 8; ++b) {
          for (int k = 0; k < (only_first_row ? 8 : 64); ++k) {
            const auto value = static_cast<JCOEF>(random() % 2047) - 1023;
            if (random() % density == 0) blocks[0][b][k] = static_cast<JCOEF>(value);
          }
        }
      }
    }
    const Bytes encoded = compressor.finish();
    expect_equal_to_library(encoded, true, best, random);
    expect_equal_to_library(encoded, true, portable, random);
    if (HasFatalFailure()) return;
  }
}

// A mapped file may end where its page ends.
TEST(JpegFast, ReadsNothingBehindTheLastByte) {
  std::mt19937 random(7);
  JpegReader reader;
  const auto page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  for (int i = 0; i < 40; ++i) {
    const Bytes encoded = encode_jpeg_kind(test_picture(40 + i, 30, 3, random), {});
    const size_t pages = (encoded.size() + page - 1) / page * page;
    void* mapped =
        mmap(nullptr, pages + page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    ASSERT_NE(mapped, MAP_FAILED);
    auto* bytes = static_cast<std::byte*>(mapped);
    ASSERT_EQ(mprotect(bytes + pages, page, PROT_NONE), 0);
    std::byte* begin = bytes + pages - encoded.size();
    std::memcpy(begin, encoded.data(), encoded.size());
    for (const size_t length : {encoded.size(), encoded.size() - 1, encoded.size() / 2}) {
      // The end of the file at the end of the page, whatever its length.
      std::byte* from = bytes + pages - length;
      std::memmove(from, encoded.data(), length);
      const std::span<const std::byte> part(from, length);
      EXPECT_EQ(reader_outcome(reader, part).error, library_outcome(part).error);
    }
    munmap(mapped, pages + page);
  }
}

TEST(JpegFast, DecodeImageAndImageDecoderAgree) {
  std::mt19937 random(8);
  const Bytes encoded = encode_jpeg_kind(test_picture(75, 50, 3, random), {.across = 2, .down = 2});
  const DecodedImage image = decode_image(encoded);
  EXPECT_TRUE(image.pixels == library_outcome(encoded).pixels);
  ImageDecoder decoder;
  for (int round = 0; round < 2; ++round) {
    const ImageInfo& info = decoder.open(encoded);
    EXPECT_EQ(info.width, 75);
    EXPECT_EQ(info.height, 50);
    EXPECT_STREQ(info.format, "JPEG");
    EXPECT_STREQ(info.mode, "RGB");
    const ImageWindow window = {13, 11, 64, 44};
    decoder.set_window(window);
    int y = window.top;
    while (y < window.bottom) {
      const RowBlock block = decoder.next_rows();
      for (int i = 0; i < block.count; ++i, ++y) {
        const size_t at = (static_cast<size_t>(y) * 75 + 13) * 3;
        EXPECT_EQ(std::memcmp(block.pixels + i * block.stride + 39, image.pixels.data() + at, 153),
                  0);
      }
    }
    decoder.finish();
    EXPECT_EQ(decoder.fast_rows(), 33);
  }
}

// Every JPEG of the corpus, sound or not, by libjpeg and by the reader.
TEST(JpegFast, CorpusHasTheOutcomesOfLibjpeg) {
  SKIP_WITHOUT_CORPUS();
  std::mt19937 random(9);
  JpegReader best;
  JpegReader portable(portable_jpeg_kernels());
  int files = 0;
  int fast = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(corpus())) {
    if (!entry.is_regular_file() || entry.file_size() > size_t{20} << 20U) continue;
    const MappedFile file(entry.path());
    if (sniff_picture_format(file.bytes()) != PictureFormat::kJpeg) continue;
    SCOPED_TRACE(entry.path().filename().string());
    const Bytes bytes(file.bytes().begin(), file.bytes().end());
    const JpegOutcome expected = library_outcome(bytes);
    for (JpegReader* reader : {&best, &portable}) {
      const JpegOutcome whole = reader_outcome(*reader, bytes);
      EXPECT_EQ(whole.error, expected.error);
      EXPECT_TRUE(whole.pixels == expected.pixels);
      if (expected.error.empty()) {
        const ImageWindow window = random_window(expected.width, expected.height, random);
        EXPECT_TRUE(reader_outcome(*reader, bytes, &window).pixels == expected.part(window));
      }
      fast += whole.fast_rows > 0 ? 1 : 0;
    }
    ++files;
  }
  EXPECT_GE(files, 120);
  EXPECT_GE(fast, 2 * 100);
}

}  // namespace
}  // namespace cantilever::test
