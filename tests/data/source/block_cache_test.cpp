#include "cantilever/data/source/block_cache.h"

#include <gtest/gtest.h>

#include <atomic>
#include <stdexcept>
#include <thread>
#include <vector>

namespace cantilever {
namespace {

struct Block {
  int64_t bytes = 0;
  int64_t value = 0;
};

TEST(BlockCache, KeepsWhatFitsAndDropsTheOldest) {
  BlockCache<Block> cache(250);
  int loads = 0;
  const auto get = [&](int64_t key) {
    return cache
        .get({0, key, 0},
             [&] {
               ++loads;
               return std::make_shared<const Block>(Block{100, key});
             })
        ->value;
  };
  EXPECT_EQ(get(1), 1);
  EXPECT_EQ(get(2), 2);
  EXPECT_EQ(get(1), 1);
  EXPECT_EQ(loads, 2);
  EXPECT_EQ(get(3), 3);  // drops 2
  EXPECT_LE(cache.bytes(), 250);
  EXPECT_EQ(get(1), 1);
  EXPECT_EQ(loads, 3);
  EXPECT_EQ(get(2), 2);
  EXPECT_EQ(loads, 4);
}

TEST(BlockCache, ABlockLargerThanTheLimitIsStillServed) {
  BlockCache<Block> cache(10);
  const auto block = cache.get({}, [] { return std::make_shared<const Block>(Block{1000, 7}); });
  EXPECT_EQ(block->value, 7);
  EXPECT_EQ(cache.bytes(), 1000);
}

TEST(BlockCache, AFailedLoadIsTriedAgain) {
  BlockCache<Block> cache(10);
  EXPECT_THROW(
      cache.get({}, []() -> std::shared_ptr<const Block> { throw std::runtime_error("x"); }),
      std::runtime_error);
  EXPECT_EQ(cache.get({}, [] { return std::make_shared<const Block>(Block{1, 5}); })->value, 5);
}

// What fails leaves nothing behind, however often.
TEST(BlockCache, FailedLoadsTakeNoRoom) {
  BlockCache<Block> cache(1000);
  for (int64_t key = 0; key < 100; ++key) {
    EXPECT_THROW(cache.get(
                     {0, key}, [] { return int64_t{900}; },
                     []() -> std::shared_ptr<const Block> { throw std::runtime_error("x"); }),
                 std::runtime_error);
    EXPECT_THROW(cache.get(
                     {0, key}, []() -> int64_t { throw std::runtime_error("y"); },
                     [] { return std::make_shared<const Block>(); }),
                 std::runtime_error);
  }
  cache.get(
      {}, [] { return int64_t{900}; }, [] { return std::make_shared<const Block>(Block{900, 1}); });
  EXPECT_EQ(cache.bytes(), 900);
}

// Blocks kept and blocks being loaded stay under the limit together.
TEST(BlockCache, LoadsWaitForRoom) {
  BlockCache<Block> cache(100);
  std::atomic<int64_t> loading{0};
  std::atomic<int64_t> most{0};
  std::vector<std::thread> threads;
  for (int64_t t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      for (int64_t key = 0; key < 50; ++key) {
        cache.get(
            {t, key}, [] { return int64_t{40}; },
            [&] {
              const int64_t now = loading += 40;
              int64_t seen = most;
              while (now > seen && !most.compare_exchange_weak(seen, now)) {
              }
              std::this_thread::yield();
              loading -= 40;
              return std::make_shared<const Block>(Block{40, key});
            });
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_LE(most, 80);
  EXPECT_LE(cache.bytes(), 100);
}

// A block larger than the limit is loaded when nothing else is.
TEST(BlockCache, ALargeLoadIsNotStarved) {
  BlockCache<Block> cache(100);
  std::vector<std::thread> threads;
  std::atomic<int> done{0};
  for (int64_t t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      const int64_t size = t == 0 ? 5000 : 60;
      for (int64_t key = 0; key < 30; ++key) {
        cache.get(
            {t, key}, [&] { return size; },
            [&] { return std::make_shared<const Block>(Block{size, key}); });
        ++done;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(done, 120);
}

TEST(BlockCache, ThreadsLoadABlockOnce) {
  BlockCache<Block> cache(1 << 20);
  std::atomic<int> loads{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (int64_t key = 0; key < 100; ++key) {
        cache.get({0, key, 0}, [&] {
          ++loads;
          return std::make_shared<const Block>(Block{1, key});
        });
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(loads, 100);
}

}  // namespace
}  // namespace cantilever
