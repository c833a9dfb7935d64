#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

namespace cantilever {

// Token ids of captions that were tokenised before, by row and number of the caption in its row.
// Filled once and never emptied: a caption that finds no room within the limit is tokenised again
// each time. All functions may be called by several threads at once, none takes a lock.
//
// Memory: 4 bytes a row (6 when captions are counted) and, for a caption of n ids, 8 + 2 n bytes
// (8 + 4 n where ids do not fit into 16 bits). It is asked for at once and used as it fills.
class CaptionCache {
 public:
  struct Options {
    int64_t rows = 0;
    int64_t vocab_size = 0;       // ids are below it
    int64_t max_length = 0;       // ids of a caption at most
    int64_t limit_bytes = 0;      // of everything
    bool count_captions = false;  // whether captions are counted: see count()
  };
  explicit CaptionCache(const Options& options);

  // The ids, in front of `ids`; returns how many, 0 when they are not there.
  size_t find(int64_t row, uint64_t number, std::span<int64_t> ids) const;
  void keep(int64_t row, uint64_t number, std::span<const int64_t> ids);

  // How many captions the row has, 0 when it is not known.
  int64_t count(int64_t row) const;
  void keep_count(int64_t row, int64_t count);

 private:
  bool has_place(int64_t row) const { return row >= 0 && row < rows_; }

  bool narrow_;       // two ids a word
  int64_t rows_;      // that have a head; those behind them are never kept
  size_t words_ = 0;  // of the arena
  std::unique_ptr<std::atomic<uint32_t>[]> heads_;   // first entry of each row; 0: none
  std::unique_ptr<std::atomic<uint16_t>[]> counts_;  // captions of each row; 0: not known
  // Entries: next entry of the row, number << 16 | length, ids.
  std::unique_ptr<uint32_t[]> arena_;
  alignas(64) std::atomic<size_t> used_{1};  // words; place 0 stands for "none"
};

}  // namespace cantilever
