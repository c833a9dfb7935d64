#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>

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

TEST(SampleOrder, SeedsWrapAround) {
  const SampleOrder order(10, 10, UINT64_MAX, true, false);
  EXPECT_EQ(order.batch(1, 0), random_permutation(10, 0));
}

TEST(SampleOrder, RefusesBatchSizeZero) {
  EXPECT_THROW(SampleOrder(1, 0, 42, true, false), Error);
}

}  // namespace
}  // namespace cantilever
