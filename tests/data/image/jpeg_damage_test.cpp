// Damaged files: the fast path must give what libjpeg gives, pixels or refusal, to the letter.

#include <gtest/gtest.h>

#include <array>

#include "tests/data/image/jpeg_encoder.h"

namespace cantilever::test {
namespace {

std::vector<JpegKind> kinds() {
  return {{.quality = 90},
          {.across = 2, .down = 2, .quality = 80, .optimised = true},
          {.across = 2, .quality = 60, .restart_interval = 2},
          {.down = 2, .quality = 95, .restart_rows = 1},
          {.components = 1, .quality = 85, .optimised = true, .restart_interval = 3},
          {.quality = 70, .progressive = true}};
}

class Comparison {
 public:
  // Whole and through a window, with readers that have seen everything before.
  void check(std::span<const std::byte> encoded) {
    const JpegOutcome expected = library_outcome(encoded);
    const JpegOutcome whole = reader_outcome(best_, encoded);
    ASSERT_EQ(whole.error, expected.error);
    ASSERT_TRUE(whole.pixels == expected.pixels);
    if (expected.width == 0 || expected.height == 0) return;
    const ImageWindow window = random_window(expected.width, expected.height, random_);
    JpegReader& reader = random_() % 2 == 0 ? best_ : portable_;
    const JpegOutcome part = reader_outcome(reader, encoded, &window);
    ASSERT_EQ(part.error, expected.error);
    if (expected.error.empty()) {
      ASSERT_TRUE(part.pixels == expected.part(window));
    }
    ++(expected.error.empty() ? read_ : refused_);
    if (expected.error.empty() && whole.fast_rows > 0 && whole.fast_rows < whole.height) ++changed_;
  }

  int read() const { return read_; }
  int refused() const { return refused_; }
  // Pictures begun by the fast path and ended by libjpeg.
  int changed() const { return changed_; }

 private:
  JpegReader best_;
  JpegReader portable_{portable_jpeg_kernels()};
  std::mt19937 random_{1};
  int read_ = 0;
  int refused_ = 0;
  int changed_ = 0;
};

TEST(JpegDamage, CutAtEveryByte) {
  std::mt19937 random(1);
  Comparison comparison;
  for (const JpegKind& kind : kinds()) {
    const Bytes encoded = encode_jpeg_kind(test_picture(45, 39, kind.components, random), kind);
    for (size_t length = 0; length <= encoded.size(); ++length) {
      SCOPED_TRACE(concat(kind.name(), ", ", length, " of ", encoded.size()));
      comparison.check(Bytes(encoded.begin(), encoded.begin() + static_cast<ptrdiff_t>(length)));
      if (HasFatalFailure()) return;
    }
  }
  EXPECT_GE(comparison.refused(), 1000);
}

// In the headers most flips are refused; behind them most give a picture.
void flip_bytes(bool everywhere, int rounds, uint32_t seed) {
  std::mt19937 random(seed);
  Comparison comparison;
  for (int i = 0; i < rounds; ++i) {
    JpegKind kind = kinds()[random() % 6];
    kind.quality = 20 + static_cast<int>(random() % 80);
    const int width = 20 + static_cast<int>(random() % 60);
    const TestPicture picture = test_picture(width, 50, kind.components, random);
    const Bytes encoded = encode_jpeg_kind(picture, kind);
    const auto scan = static_cast<size_t>(to_text(encoded).find("\xff\xda"));
    const size_t first = everywhere ? 2 : scan + 14;
    for (int j = 0; j < 40; ++j) {
      Bytes damaged = encoded;
      for (size_t flips = 1 + random() % 3; flips > 0; --flips) {
        const size_t at = first + random() % (encoded.size() - first);
        damaged[at] = random() % 2 == 0 ? static_cast<std::byte>(random() & 255U)
                                        : damaged[at] ^ std::byte{1} << (random() % 8);
      }
      SCOPED_TRACE(concat("round ", i, " ", j, ", ", kind.name()));
      comparison.check(damaged);
      if (testing::Test::HasFatalFailure()) return;
    }
  }
  EXPECT_GE(comparison.read(), rounds * 4);
  EXPECT_GE(comparison.changed(), everywhere ? 1 : rounds);
}

TEST(JpegDamage, RandomBytesInTheScan) {
  flip_bytes(false, 60, 2);
}

TEST(JpegDamage, RandomBytesAnywhere) {
  flip_bytes(true, 60, 3);
}

// Bytes put in or taken out, most of all around markers.
TEST(JpegDamage, BytesMoreOrLess) {
  std::mt19937 random(4);
  Comparison comparison;
  constexpr std::array<int, 8> kBytes = {0xff, 0x00, 0xd0, 0xd3, 0xd9, 0xda, 0x55, 0x80};
  for (int i = 0; i < 60; ++i) {
    const JpegKind kind = kinds()[random() % 5];
    const Bytes encoded = encode_jpeg_kind(test_picture(40, 40, kind.components, random), kind);
    for (int j = 0; j < 30; ++j) {
      Bytes damaged = encoded;
      auto at = static_cast<ptrdiff_t>(random() % encoded.size());
      if (j % 3 == 0)
        at = static_cast<ptrdiff_t>(encoded.size()) - 1 - static_cast<ptrdiff_t>(random() % 6);
      while (j % 3 == 1 && at > 0 && damaged[static_cast<size_t>(at)] != std::byte{0xff}) --at;
      if (random() % 2 == 0) {
        damaged.erase(damaged.begin() + at);
      } else {
        damaged.insert(damaged.begin() + at, static_cast<std::byte>(kBytes[random() % 8]));
      }
      SCOPED_TRACE(concat("round ", i, " ", j, ", ", kind.name()));
      comparison.check(damaged);
      if (HasFatalFailure()) return;
    }
  }
}

// Two sound pictures one behind the other, and a table of another picture.
TEST(JpegDamage, TablesDoNotOutliveTheirPicture) {
  std::mt19937 random(5);
  Comparison comparison;
  const JpegKind kind = {.quality = 75, .optimised = true};
  const Bytes sound = encode_jpeg_kind(test_picture(40, 40, 3, random), kind);
  for (const std::string_view marker : {"\xff\xc4", "\xff\xdb"}) {
    std::string text(to_text(sound));
    for (size_t at = text.find(marker); at != std::string::npos; at = text.find(marker)) {
      const auto high = static_cast<unsigned char>(text[at + 2]);
      const auto low = static_cast<unsigned char>(text[at + 3]);
      text.erase(at, size_t{2} + high * size_t{256} + low);
      comparison.check(sound);
      comparison.check(to_bytes(text));
      if (HasFatalFailure()) return;
    }
  }
}

}  // namespace
}  // namespace cantilever::test
