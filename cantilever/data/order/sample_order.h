#pragma once

#include <array>
#include <cstdint>
#include <mutex>
#include <vector>

namespace cantilever {

// torch.randperm(n, generator=torch.Generator().manual_seed(seed)), number for number.
std::vector<int64_t> random_permutation(int64_t n, uint64_t seed);
// The same into memory that is kept; at most 2^32 - 1 elements.
void random_permutation(int64_t n, uint64_t seed, std::vector<uint32_t>& values);

// numpy.random.default_rng(seed).permutation(n), number for number.
std::vector<int64_t> numpy_permutation(int64_t n, uint64_t seed);

// Which rows stand in which batch of which epoch: a pure function, so a position is all the state a
// resumed run needs. The order of Transformers' Trainer: epoch e is randperm of seed + e; a short
// last batch stays (unless drop_last); shuffle off: rows in order.
//
// Two permutations are kept, of an even and an odd epoch, 8 bytes a row together. Any thread may
// call any function; one that asks for a permutation which another thread computes waits for it.
class SampleOrder {
 public:
  // Throws Error: no or negative sizes, more than 2^32 - 1 rows to shuffle.
  SampleOrder(int64_t rows, int64_t batch_size, uint64_t seed, bool shuffle, bool drop_last);

  int64_t batches_per_epoch() const;
  // The rows of one batch.
  std::vector<int64_t> batch(int64_t epoch, int64_t index) const;
  // The same into memory that is kept.
  void batch(int64_t epoch, int64_t index, std::vector<int64_t>& rows) const;
  // Computes the permutation of an epoch ahead of its first batch.
  void prepare(int64_t epoch) const;

 private:
  struct Permutation {
    std::mutex mutex;
    int64_t epoch = -1;
    std::vector<uint32_t> rows;
  };
  Permutation& permutation(int64_t epoch) const { return permutations_[epoch & 1]; }
  // With the permutation's mutex held.
  void fill(Permutation& permutation, int64_t epoch) const;

  int64_t rows_;
  int64_t batch_size_;
  uint64_t seed_;
  bool shuffle_;
  bool drop_last_;
  mutable std::array<Permutation, 2> permutations_;
};

}  // namespace cantilever
