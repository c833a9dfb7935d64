#pragma once

#include <cstdint>
#include <vector>

namespace cantilever {

// torch.randperm(n, generator=torch.Generator().manual_seed(seed)), number for number.
std::vector<int64_t> random_permutation(int64_t n, uint64_t seed);

// numpy.random.default_rng(seed).permutation(n), number for number.
std::vector<int64_t> numpy_permutation(int64_t n, uint64_t seed);

// Which rows stand in which batch of which epoch: a pure function, so a position is all the state a
// resumed run needs. The order of Transformers' Trainer: epoch e is randperm of seed + e; a short
// last batch stays (unless drop_last); shuffle off: rows in order.
class SampleOrder {
 public:
  SampleOrder(int64_t rows, int64_t batch_size, uint64_t seed, bool shuffle, bool drop_last);

  int64_t batches_per_epoch() const;
  // The rows of one batch; keeps the permutation of the epoch asked for last (not thread safe).
  std::vector<int64_t> batch(int64_t epoch, int64_t index) const;

 private:
  int64_t rows_;
  int64_t batch_size_;
  uint64_t seed_;
  bool shuffle_;
  bool drop_last_;
  mutable int64_t cached_epoch_ = -1;
  mutable std::vector<int64_t> permutation_;
};

}  // namespace cantilever
