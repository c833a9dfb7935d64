#include "cantilever/data/loader/caption_cache.h"

#include <gtest/gtest.h>

#include <thread>
#include <vector>

namespace cantilever {
namespace {

using Ids = std::vector<int64_t>;

Ids found(const CaptionCache& cache, int64_t row, uint64_t number) {
  Ids ids(40, -1);
  const size_t count = cache.find(row, number, ids);
  for (size_t i = count; i < ids.size(); ++i) EXPECT_EQ(ids[i], -1);
  ids.resize(count);
  return ids;
}

CaptionCache::Options small(int64_t vocabulary) {
  return {.rows = 10,
          .vocab_size = vocabulary,
          .max_length = 40,
          .limit_bytes = 4096,
          .count_captions = true};
}

TEST(CaptionCache, GivesBackWhatWasKept) {
  for (const int64_t vocabulary : {65536, 65537}) {
    CaptionCache cache(small(vocabulary));
    const Ids odd = {0, vocabulary - 1, 7};
    const Ids even = {0, 2};
    cache.keep(3, 0, odd);
    cache.keep(3, 2, even);
    cache.keep(9, 0, even);
    EXPECT_EQ(found(cache, 3, 0), odd);
    EXPECT_EQ(found(cache, 3, 2), even);
    EXPECT_EQ(found(cache, 9, 0), even);
    EXPECT_EQ(found(cache, 3, 1), Ids());
    EXPECT_EQ(found(cache, 0, 0), Ids());
  }
}

TEST(CaptionCache, StaysWithinItsLimit) {
  CaptionCache cache({.rows = 1000, .vocab_size = 500, .max_length = 40, .limit_bytes = 2048});
  const Ids ids(20, 499);
  int kept = 0;
  for (int64_t row = 0; row < 1000; ++row) {
    cache.keep(row, 0, ids);
    if (!found(cache, row, 0).empty()) {
      EXPECT_EQ(found(cache, row, 0), ids);
      ++kept;
    }
  }
  // Half of the limit at most finds them; an entry has 8 + 40 bytes.
  EXPECT_GE(kept, 15);
  EXPECT_LE(kept, 2048 / 48);
}

TEST(CaptionCache, OddRowsAndSizesAreNotKept) {
  CaptionCache cache(small(100));
  const Ids ids = {1, 2};
  cache.keep(-1, 0, ids);
  cache.keep(10, 0, ids);
  cache.keep(0, 65536, ids);
  cache.keep(0, 0, Ids(70000, 1));
  EXPECT_EQ(found(cache, -1, 0), Ids());
  EXPECT_EQ(found(cache, 10, 0), Ids());
  EXPECT_EQ(found(cache, 0, 65536), Ids());
  EXPECT_EQ(found(cache, 0, 0), Ids());
  CaptionCache none({.rows = 10, .vocab_size = 100, .max_length = 40, .limit_bytes = 0});
  none.keep(1, 0, ids);
  EXPECT_EQ(found(none, 1, 0), Ids());
}

TEST(CaptionCache, CountsCaptions) {
  CaptionCache cache(small(100));
  EXPECT_EQ(cache.count(4), 0);
  cache.keep_count(4, 5);
  cache.keep_count(5, 70000);  // cannot be kept
  EXPECT_EQ(cache.count(4), 5);
  EXPECT_EQ(cache.count(5), 0);
  EXPECT_EQ(cache.count(11), 0);
}

TEST(CaptionCache, ThreadsMayMeetAtARow) {
  CaptionCache cache({.rows = 4,
                      .vocab_size = 1000,
                      .max_length = 40,
                      .limit_bytes = 1 << 20,
                      .count_captions = true});
  std::vector<std::thread> threads;
  for (int thread = 0; thread < 4; ++thread) {
    threads.emplace_back([&] {
      Ids ids(40);
      for (int64_t i = 0; i < 400; ++i) {
        const int64_t row = i % 4;
        const auto number = static_cast<uint64_t>(i / 4 % 25);
        const Ids right(static_cast<size_t>(number + 2), row * 100 + static_cast<int64_t>(number));
        const size_t count = cache.find(row, number, ids);
        if (count == 0) {
          cache.keep(row, number, right);
        } else {
          EXPECT_EQ(Ids(ids.begin(), ids.begin() + static_cast<ptrdiff_t>(count)), right);
        }
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (int64_t row = 0; row < 4; ++row) EXPECT_EQ(found(cache, row, 24).size(), 26U);
}

}  // namespace
}  // namespace cantilever
