// The file of a disk cache: found again, replaced when it is another's, not trusted where it is
// damaged.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <functional>
#include <limits>

#include "cantilever/base/file.h"
#include "tests/data/loader/decoded_cache_support.h"

namespace cantilever::test {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

TEST(DiskCache, IsFoundAgain) {
  const TemporaryFolder folder;
  {
    const auto cache = DecodedCache::open(disk(folder), 10, kValues, "k");
    for (const int64_t row : {7, 2, 9}) EXPECT_TRUE(put(*cache, row));
    ASSERT_NE(cache->reserve(4), nullptr);  // and never kept
  }
  const auto cache = DecodedCache::open(disk(folder), 10, kValues, "k");
  EXPECT_EQ(cache->kept_rows(), 3);
  for (const int64_t row : {7, 2, 9}) expect_row(*cache, row);
  EXPECT_EQ(cache->find(4), nullptr);
  for (const int64_t row : {0, 1, 3, 4, 5, 6, 8}) EXPECT_TRUE(put(*cache, row));
  for (int64_t row = 0; row < 10; ++row) expect_row(*cache, row);
  only_file(folder);
}

TEST(DiskCache, AStoredRowIsNotReservedBeforeItIsLookedFor) {
  const TemporaryFolder folder;
  {
    put(*DecodedCache::open(disk(folder), 10, kValues, "k"), 5);
  }
  const auto cache = DecodedCache::open(disk(folder), 10, kValues, "k");
  EXPECT_EQ(cache->reserve(5), nullptr);
  expect_row(*cache, 5);
}

TEST(DiskCache, ASmallerLimitKeepsWhatIsThereAndAddsNothing) {
  const TemporaryFolder folder;
  {
    const auto cache = DecodedCache::open(disk(folder, 4 * kValues), 10, kValues, "k");
    for (int64_t row = 0; row < 4; ++row) EXPECT_TRUE(put(*cache, row));
  }
  const auto cache = DecodedCache::open(disk(folder, 2 * kValues), 10, kValues, "k");
  for (int64_t row = 0; row < 4; ++row) expect_row(*cache, row);
  EXPECT_FALSE(put(*cache, 4));
}

TEST(DiskCache, OtherKeysRowsAndTypesHaveOtherFiles) {
  const TemporaryFolder folder;
  {
    put(*DecodedCache::open(disk(folder), 10, kValues, "k"), 5);
  }
  DecodedCacheOptions half = disk(folder);
  half.type = PixelType::kBfloat16;
  EXPECT_EQ(DecodedCache::open(disk(folder), 10, kValues, "other")->find(5), nullptr);
  EXPECT_EQ(DecodedCache::open(disk(folder), 11, kValues, "k")->find(5), nullptr);
  EXPECT_EQ(DecodedCache::open(disk(folder), 10, kValues / 2, "k")->find(5), nullptr);
  EXPECT_EQ(DecodedCache::open(half, 10, kValues, "k")->find(5), nullptr);
  EXPECT_EQ(folder.entries(), 5U);
  expect_row(*DecodedCache::open(disk(folder), 10, kValues, "k"), 5);
}

TEST(DiskCache, AFileOfAnotherKeyUnderTheSameNameIsMadeAnew) {
  const TemporaryFolder folder;
  {
    put(*DecodedCache::open(disk(folder), 10, kValues, "key-a"), 5);
  }
  const fs::path path = only_file(folder);
  const int64_t at = static_cast<int64_t>(read_file(path).find("key-a"));
  overwrite(path, at, "key-b");
  testing::internal::CaptureStderr();
  const auto cache = DecodedCache::open(disk(folder), 10, kValues, "key-a");
  EXPECT_THAT(testing::internal::GetCapturedStderr(), HasSubstr("made for other pictures"));
  EXPECT_EQ(cache->find(5), nullptr);
  EXPECT_TRUE(put(*cache, 5));
  expect_row(*cache, 5);
  only_file(folder);
}

TEST(DiskCache, ABrokenHeaderIsNamedAndMadeAnew) {
  struct Damage {
    const char* what;
    std::function<void(const fs::path&)> make;
  };
  const Damage damages[] = {
      {"does not begin as", [](const fs::path& path) { overwrite(path, 0, "GARBAGE!"); }},
      {"of version 9",
       [](const fs::path& path) { overwrite(path, 8, std::string("\x09\0\0\0", 4)); }},
      {"or is damaged", [](const fs::path& path) { overwrite(path, 17, "\xff"); }},
      {"cut short", [](const fs::path& path) { fs::resize_file(path, 0); }},
      {"cut short", [](const fs::path& path) { fs::resize_file(path, 30); }},
      {"cut short", [](const fs::path& path) { fs::resize_file(path, 5000); }},
  };
  for (const Damage& damage : damages) {
    const TemporaryFolder folder;
    {
      put(*DecodedCache::open(disk(folder), 10, kValues, "k"), 5);
    }
    damage.make(only_file(folder));
    testing::internal::CaptureStderr();
    const auto cache = DecodedCache::open(disk(folder), 10, kValues, "k");
    EXPECT_THAT(testing::internal::GetCapturedStderr(),
                testing::AllOf(HasSubstr("is made anew"), HasSubstr(damage.what)));
    EXPECT_EQ(cache->find(5), nullptr);
    EXPECT_TRUE(put(*cache, 5));
    only_file(folder);
  }
}

TEST(DiskCache, ADamagedPictureIsMadeAnew) {
  const TemporaryFolder folder;
  {
    const auto cache = DecodedCache::open(disk(folder), 10, kValues, "k");
    for (int64_t row = 0; row < 3; ++row) EXPECT_TRUE(put(*cache, row));
  }
  // As after a power cut that kept the entry and lost the picture: the last byte of row 1.
  overwrite(only_file(folder), kSlots + 2 * kValues - 1, "\x01");
  const auto cache = DecodedCache::open(disk(folder), 10, kValues, "k");
  expect_row(*cache, 0);
  EXPECT_EQ(cache->kept_rows(), 3);
  EXPECT_EQ(cache->find(1), nullptr);
  EXPECT_EQ(cache->kept_rows(), 2);
  expect_row(*cache, 2);
  EXPECT_TRUE(put(*cache, 1));
  expect_row(*cache, 1);
}

TEST(DiskCache, APictureOfAnotherRowIsNotTaken) {
  const TemporaryFolder folder;
  {
    const auto cache = DecodedCache::open(disk(folder), 10, kValues, "k");
    for (int64_t row = 0; row < 2; ++row) EXPECT_TRUE(put(*cache, row));
  }
  const fs::path path = only_file(folder);
  const std::string whole = read_file(path);
  overwrite(path, kEntries, whole.substr(kEntries + 16, 16) + whole.substr(kEntries, 16));
  const auto cache = DecodedCache::open(disk(folder), 10, kValues, "k");
  EXPECT_EQ(cache->find(0), nullptr);
  EXPECT_EQ(cache->find(1), nullptr);
}

TEST(DiskCache, AnImpossibleTableOfEntriesIsSurvived) {
  const TemporaryFolder folder;
  const std::string slot_1("\2\0\0\0\0\0\0\0", 8);
  const std::string far(8, '\x7f');
  for (const std::string& slot : {slot_1, far, std::string(8, '\xff')}) {
    {
      const auto cache = DecodedCache::open(disk(folder), 10, kValues, "k");
      for (int64_t row = 0; row < 3; ++row) put(*cache, row);
    }
    overwrite(only_file(folder), kEntries + 8, slot);  // row 0: the slot of row 1, or none at all
    const auto cache = DecodedCache::open(disk(folder), 10, kValues, "k");
    EXPECT_EQ(cache->find(0), nullptr);
    for (int64_t row = 0; row < 10; ++row) {
      EXPECT_TRUE(cache->find(row) != nullptr || put(*cache, row)) << row;
      expect_row(*cache, row);
    }
    EXPECT_EQ(cache->kept_rows(), 10);
  }
}

TEST(DiskCache, AReaderSurvivesAnImpossibleTableOfEntries) {
  const TemporaryFolder folder;
  const auto writer = DecodedCache::open(disk(folder), 10, kValues, "k");
  EXPECT_TRUE(put(*writer, 0));
  for (const std::string& slot :
       {std::string(8, '\x7f'), std::string(8, '\xff'), std::string("\x0b\0\0\0\0\0\0\0", 8),
        std::string("\0\0\0\0\0\0\0\x80", 8)}) {
    overwrite(only_file(folder), kEntries + 8, slot);
    EXPECT_EQ(DecodedCache::open(disk(folder), 10, kValues, "k")->find(0), nullptr);
  }
}

TEST(DiskCache, ARunThatCouldNotStartLetsGoOfTheFile) {
  const TemporaryFolder folder;
  const int64_t most = std::numeric_limits<int64_t>::max();
  const int64_t rows = 2'000'000'000;  // 2 TB: more than the disk has
  EXPECT_NE(
      error_of([&] { DecodedCache::open(disk(folder, most), rows / 1000, 1'000'000'000, "k"); }),
      "");
  const auto cache = DecodedCache::open(disk(folder), rows / 1000, 1'000'000'000, "k");
  EXPECT_EQ(cache->reserve(0), nullptr) << "the limit";
  EXPECT_EQ(cache->description().find("of another run"), std::string::npos);
}

TEST(DiskCache, AFileCutInItsPicturesLosesThoseOnly) {
  const TemporaryFolder folder;
  {
    const auto cache = DecodedCache::open(disk(folder), 10, kValues, "k");
    for (int64_t row = 0; row < 10; ++row) put(*cache, row);
  }
  fs::resize_file(only_file(folder), kSlots + 4 * kValues + 10);
  const auto cache = DecodedCache::open(disk(folder), 10, kValues, "k");
  EXPECT_EQ(cache->kept_rows(), 4);
  for (int64_t row = 0; row < 4; ++row) expect_row(*cache, row);
  for (int64_t row = 4; row < 10; ++row) EXPECT_TRUE(put(*cache, row));
  for (int64_t row = 0; row < 10; ++row) expect_row(*cache, row);
}

}  // namespace
}  // namespace cantilever::test
