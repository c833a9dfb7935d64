#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>
#include <thread>

#include "cantilever/base/error.h"
#include "cantilever/data/order/sample_order.h"

namespace cantilever {
namespace {

using testing::ElementsAre;

std::vector<int64_t> whole_epoch(const SampleOrder& order, int64_t epoch) {
  std::vector<int64_t> rows;
  for (int64_t index = 0; index < order.batches_per_epoch(); ++index) {
    const std::vector<int64_t> batch = order.batch(epoch, index);
    rows.insert(rows.end(), batch.begin(), batch.end());
  }
  return rows;
}

TEST(SampleOrder, EpochUsesSeedPlusEpoch) {
  const SampleOrder order(65, 8, 42, true, false);
  for (int64_t epoch : {0, 1, 7}) {
    EXPECT_EQ(whole_epoch(order, epoch), random_permutation(65, 42 + static_cast<uint64_t>(epoch)));
  }
}

TEST(SampleOrder, KeepsTheShortLastBatch) {
  const SampleOrder order(65, 8, 42, true, false);
  EXPECT_EQ(order.batches_per_epoch(), 9);
  EXPECT_EQ(order.batch(0, 7).size(), 8U);
  EXPECT_EQ(order.batch(0, 8).size(), 1U);
}

TEST(SampleOrder, DropLastDropsIt) {
  EXPECT_EQ(SampleOrder(65, 8, 42, true, true).batches_per_epoch(), 8);
  EXPECT_EQ(SampleOrder(64, 8, 42, true, true).batches_per_epoch(), 8);
  EXPECT_EQ(SampleOrder(7, 8, 42, true, true).batches_per_epoch(), 0);
}

TEST(SampleOrder, WithoutShuffleRowsComeInOrder) {
  const SampleOrder order(5, 2, 42, false, false);
  EXPECT_THAT(order.batch(3, 0), ElementsAre(0, 1));
  EXPECT_THAT(order.batch(3, 2), ElementsAre(4));
}

TEST(SampleOrder, APositionIsAllTheState) {
  const SampleOrder straight(100, 8, 7, true, false);
  straight.batch(0, 0);
  const SampleOrder resumed(100, 8, 7, true, false);
  EXPECT_EQ(resumed.batch(2, 5), straight.batch(2, 5));
  EXPECT_EQ(straight.batch(0, 1), SampleOrder(100, 8, 7, true, false).batch(0, 1));
}

TEST(SampleOrder, APermutationPreparedAheadIsTheSame) {
  const SampleOrder straight(1000, 8, 7, true, false);
  const SampleOrder ahead(1000, 8, 7, true, false);
  std::vector<int64_t> rows;
  for (int64_t epoch = 0; epoch < 5; ++epoch) {
    std::thread helper([&] { ahead.prepare(epoch + 1); });
    for (const int64_t index : {0, 60, 124}) {
      ahead.batch(epoch, index, rows);
      EXPECT_EQ(rows, straight.batch(epoch, index));
    }
    helper.join();
  }
}

TEST(SampleOrder, BatchesKeepTheirMemory) {
  const SampleOrder order(1000, 8, 7, true, false);
  std::vector<int64_t> rows;
  order.batch(0, 0, rows);
  const int64_t* memory = rows.data();
  for (int64_t epoch = 0; epoch < 3; ++epoch) {
    order.batch(epoch, 124, rows);
    EXPECT_EQ(rows.data(), memory);
  }
}

TEST(SampleOrder, MoreRowsThanCanBeShuffledAreRefused) {
  EXPECT_THROW(SampleOrder(int64_t{1} << 32, 8, 7, true, false), Error);
  EXPECT_EQ(SampleOrder(int64_t{1} << 32, 8, 7, false, false).batch(0, 1)[0], 8);
}

TEST(SampleOrder, SeedsWrapAround) {
  const SampleOrder order(10, 10, UINT64_MAX, true, false);
  EXPECT_EQ(order.batch(1, 0), random_permutation(10, 0));
}

TEST(SampleOrder, RefusesBatchSizeZero) {
  EXPECT_THROW(SampleOrder(1, 0, 42, true, false), Error);
}

}  // namespace
}  // namespace cantilever
