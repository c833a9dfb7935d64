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
