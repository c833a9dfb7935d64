// What a cache of finished pictures promises, in memory and on the disk.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <limits>
#include <thread>
#include <vector>

#include "cantilever/data/loader/decoded_cache_limit.h"
#include "tests/data/loader/decoded_cache_support.h"

namespace cantilever::test {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

TEST(DecodedCache, OffIsNone) {
  EXPECT_EQ(DecodedCache::open({}, 10, kValues, "k"), nullptr);
}

TEST(DecodedCache, RowsGoInOnceAndStay) {
  const TemporaryFolder folder;
  for (const DecodedCacheOptions& options : {ram(1 << 20), disk(folder)}) {
    const auto cache = DecodedCache::open(options, 5, kValues, "k");
    EXPECT_EQ(cache->find(3), nullptr);
    void* place = cache->reserve(3);
    ASSERT_NE(place, nullptr);
    EXPECT_EQ(cache->find(3), nullptr) << "not complete yet";
    EXPECT_EQ(cache->reserve(3), nullptr) << "taken";
    fill_picture(place, 3);
    cache->keep(3);
    EXPECT_EQ(cache->find(3), place);
    EXPECT_EQ(cache->reserve(3), nullptr) << "is there";
    expect_row(*cache, 3);
    EXPECT_EQ(cache->kept_rows(), 1);
    EXPECT_THAT(cache->description(), HasSubstr(", u8, 1 of 5 rows, 1.0 KB"));
  }
}

TEST(DecodedCache, ADroppedRowGivesItsPlaceBack) {
  const TemporaryFolder folder;
  for (const DecodedCacheOptions& options : {ram(kValues), disk(folder, kValues)}) {
    const auto cache = DecodedCache::open(options, 5, kValues, "k");
    ASSERT_NE(cache->reserve(0), nullptr);
    EXPECT_EQ(cache->reserve(1), nullptr) << "one place only";
    cache->drop(0);
    EXPECT_TRUE(put(*cache, 1));
    EXPECT_EQ(cache->find(0), nullptr);
    EXPECT_EQ(cache->reserve(0), nullptr);
    expect_row(*cache, 1);
  }
}

TEST(DecodedCache, TheLimitIsExact) {
  const TemporaryFolder folder;
  for (const int64_t limit :
       {int64_t{0}, kValues - 1, 3 * kValues - 1, 3 * kValues, 3 * kValues + 1}) {
    const auto in_memory = DecodedCache::open(ram(limit), 10, kValues, "k");
    const auto on_disk =
        DecodedCache::open(disk(folder, limit), 10, kValues, "k" + std::to_string(limit));
    for (DecodedCache* cache : {in_memory.get(), on_disk.get()}) {
      int64_t kept = 0;
      for (int64_t row = 0; row < 10; ++row) kept += put(*cache, row) ? 1 : 0;
      EXPECT_EQ(kept, limit / kValues);
      EXPECT_EQ(cache->kept_rows(), kept);
      for (int64_t row = 0; row < kept; ++row) expect_row(*cache, row);
    }
  }
}

TEST(DecodedCache, TheLimitIsInBytesOfTheType) {
  const auto cache = DecodedCache::open(ram(8 * kValues, PixelType::kFloat32), 10, kValues, "k");
  for (int64_t row = 0; row < 10; ++row) {
    if (void* place = cache->reserve(row)) {
      static_cast<float*>(place)[kValues - 1] = 1;
      cache->keep(row);
    }
  }
  EXPECT_EQ(cache->kept_rows(), 2);
}

TEST(DecodedCache, NoRows) {
  const TemporaryFolder folder;
  for (const DecodedCacheOptions& options : {ram(1 << 20), disk(folder)}) {
    for (int run = 0; run < 2; ++run) {
      const auto cache = DecodedCache::open(options, 0, kValues, "k");
      EXPECT_EQ(cache->kept_rows(), 0);
      EXPECT_THAT(cache->description(), HasSubstr("0 of 0 rows"));
    }
  }
}

TEST(DecodedCache, RowsOverSeveralBlocksOfMemory) {
  // 5 MB a row: 12 in a block of 64 MiB. Only the touched pages cost anything.
  const int64_t values = 5'000'000;
  const auto cache = DecodedCache::open(ram(30 * values), 40, values, "k");
  for (int64_t row = 39; row >= 10; --row) {
    auto* place = static_cast<uint8_t*>(cache->reserve(row));
    ASSERT_NE(place, nullptr);
    place[0] = static_cast<uint8_t>(row);
    place[values - 1] = static_cast<uint8_t>(row + 100);
    cache->keep(row);
  }
  for (int64_t row = 10; row < 40; ++row) {
    const auto* found = static_cast<const uint8_t*>(cache->find(row));
    ASSERT_NE(found, nullptr);
    EXPECT_EQ(found[0], row);
    EXPECT_EQ(found[values - 1], row + 100);
  }
  EXPECT_EQ(cache->reserve(0), nullptr);
}

TEST(DecodedCache, MemoryThatIsNotThereIsAnError) {
  const int64_t more = available_memory() / 1000 + 1'000'000'000;
  EXPECT_THAT(error_of([&] { DecodedCache::open(ram(more * 1000), more, 1000, "k"); }),
              HasSubstr("of memory, of which"));
}

TEST(DecodedCache, ImpossibleSizesAreErrors) {
  const int64_t most = std::numeric_limits<int64_t>::max();
  EXPECT_NE(error_of([&] { DecodedCache::open(ram(most), most, 1000, "k"); }), "");
  EXPECT_NE(error_of([&] { DecodedCache::open(ram(1000), 10, 0, "k"); }), "");
  EXPECT_NE(error_of([&] { DecodedCache::open(ram(1000), 10, most, "k"); }), "");
  EXPECT_NE(error_of([&] { DecodedCache::open(ram(-1), 10, 10, "k"); }), "");
}

// Every thread goes over all rows in another order, as the threads of a loader do over epochs.
void hammer(DecodedCache& cache, int64_t rows, int64_t values) {
  std::atomic<int64_t> hits{0};
  const auto work = [&](int64_t thread) {
    for (int64_t step = 0; step < 3 * rows; ++step) {
      const int64_t row = (step * (2 * thread + 1) + thread) % rows;
      if (const void* found = cache.find(row)) {
        EXPECT_TRUE(is_picture(found, row, values));
        ++hits;
      } else if (void* place = cache.reserve(row)) {
        fill_picture(place, row, values);
        if ((step + thread) % 5 == 0) {
          cache.drop(row);
        } else {
          cache.keep(row);
        }
      }
    }
  };
  std::vector<std::thread> threads;
  for (int64_t i = 0; i < 4; ++i) threads.emplace_back(work, i);
  for (std::thread& thread : threads) thread.join();
  EXPECT_GT(hits.load(), 0);
}

TEST(DecodedCacheThreads, AllRowsFit) {
  const TemporaryFolder folder;
  for (const DecodedCacheOptions& options : {ram(1 << 20), disk(folder)}) {
    const auto cache = DecodedCache::open(options, 64, kValues, "k");
    for (int round = 0; round < 20; ++round) hammer(*cache, 64, kValues);
    EXPECT_EQ(cache->kept_rows(), 64);
  }
}

TEST(DecodedCacheThreads, SomeRowsFit) {
  const TemporaryFolder folder;
  for (const DecodedCacheOptions& options : {ram(20 * kValues), disk(folder, 20 * kValues)}) {
    const auto cache = DecodedCache::open(options, 64, kValues, "k");
    for (int round = 0; round < 20; ++round) hammer(*cache, 64, kValues);
    EXPECT_EQ(cache->kept_rows(), 20);
  }
}

TEST(DecodedCacheThreads, FoundAgainByMany) {
  const TemporaryFolder folder;
  {
    hammer(*DecodedCache::open(disk(folder), 64, kValues, "k"), 64, kValues);
  }
  const auto cache = DecodedCache::open(disk(folder), 64, kValues, "k");
  for (int round = 0; round < 5; ++round) hammer(*cache, 64, kValues);
  EXPECT_EQ(cache->kept_rows(), 64);
}

}  // namespace
}  // namespace cantilever::test
