#include "cantilever/data/order/sample_order.h"

#include <algorithm>
#include <limits>
#include <numeric>

#include "cantilever/base/error.h"

namespace cantilever {

SampleOrder::SampleOrder(int64_t rows, int64_t batch_size, uint64_t seed, bool shuffle,
                         bool drop_last)
    : rows_(rows), batch_size_(batch_size), seed_(seed), shuffle_(shuffle), drop_last_(drop_last) {
  CANTILEVER_CHECK(rows >= 0, "a set cannot have ", rows, " rows");
  CANTILEVER_CHECK(!shuffle || rows <= std::numeric_limits<uint32_t>::max(), "a set of ", rows,
                   " rows cannot be shuffled; ", std::numeric_limits<uint32_t>::max(), " rows can");
  CANTILEVER_CHECK(batch_size >= 1, "the batch size is ", batch_size, "; it must be at least 1");
}

int64_t SampleOrder::batches_per_epoch() const {
  const int64_t full = rows_ / batch_size_;
  return drop_last_ || rows_ % batch_size_ == 0 ? full : full + 1;
}

std::vector<int64_t> SampleOrder::batch(int64_t epoch, int64_t index) const {
  std::vector<int64_t> rows;
  batch(epoch, index, rows);
  return rows;
}

void SampleOrder::batch(int64_t epoch, int64_t index, std::vector<int64_t>& rows) const {
  CANTILEVER_ASSERT(epoch >= 0 && index >= 0 && index < batches_per_epoch(), "epoch ", epoch,
                    ", batch ", index, " of ", batches_per_epoch());
  const int64_t first = index * batch_size_;
  const int64_t size = std::min(batch_size_, rows_ - first);
  rows.resize(static_cast<size_t>(size));
  if (!shuffle_) {
    std::iota(rows.begin(), rows.end(), first);
    return;
  }
  Permutation& order = permutation(epoch);
  const std::lock_guard lock(order.mutex);
  fill(order, epoch);
  std::copy_n(order.rows.begin() + first, size, rows.begin());
}

void SampleOrder::prepare(int64_t epoch) const {
  if (!shuffle_) return;
  Permutation& order = permutation(epoch);
  const std::lock_guard lock(order.mutex);
  fill(order, epoch);
}

void SampleOrder::fill(Permutation& permutation, int64_t epoch) const {
  if (permutation.epoch == epoch) return;
  permutation.epoch = -1;  // stays so when there is no memory
  random_permutation(rows_, seed_ + static_cast<uint64_t>(epoch), permutation.rows);
  permutation.epoch = epoch;
}

}  // namespace cantilever
