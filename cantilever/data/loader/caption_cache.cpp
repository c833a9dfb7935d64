#include "cantilever/data/loader/caption_cache.h"

#include <algorithm>
#include <limits>

namespace cantilever {
namespace {

constexpr size_t kHeaderWords = 2;
constexpr uint64_t kLargest16 = std::numeric_limits<uint16_t>::max();

}  // namespace

CaptionCache::CaptionCache(const Options& options)
    : narrow_(options.vocab_size <= static_cast<int64_t>(kLargest16) + 1) {
  const int64_t limit = std::max<int64_t>(0, options.limit_bytes);
  const int64_t row_bytes = options.count_captions ? 6 : 4;
  // At most half of the limit for what finds the captions.
  rows_ = std::min(options.rows, limit / 2 / row_bytes);
  heads_ = std::make_unique<std::atomic<uint32_t>[]>(static_cast<size_t>(rows_));
  if (options.count_captions) {
    counts_ = std::make_unique<std::atomic<uint16_t>[]>(static_cast<size_t>(rows_));
  }
  // No more than all rows could fill with one caption each, unless rows have several.
  const int64_t longest = 4 * (static_cast<int64_t>(kHeaderWords) + options.max_length);
  int64_t bytes = limit - rows_ * row_bytes;
  if (!options.count_captions && rows_ < bytes / longest) bytes = rows_ * longest + 4;
  words_ = static_cast<size_t>(std::min<int64_t>(bytes / 4, std::numeric_limits<uint32_t>::max()));
  arena_ = std::make_unique_for_overwrite<uint32_t[]>(words_);
}

size_t CaptionCache::find(int64_t row, uint64_t number, std::span<int64_t> ids) const {
  if (!has_place(row)) return 0;
  uint32_t at = heads_[static_cast<size_t>(row)].load(std::memory_order_acquire);
  for (; at != 0; at = arena_[at]) {
    const uint32_t name = arena_[at + 1];
    if (name >> 16 != number) continue;
    const size_t count = std::min<size_t>(name & kLargest16, ids.size());
    const uint32_t* stored = &arena_[at + kHeaderWords];
    if (!narrow_) {
      std::copy_n(stored, count, ids.begin());
      return count;
    }
    for (size_t i = 0; i < count; ++i) {
      ids[i] = static_cast<int64_t>(stored[i / 2] >> (16 * (i % 2)) & kLargest16);
    }
    return count;
  }
  return 0;
}

void CaptionCache::keep(int64_t row, uint64_t number, std::span<const int64_t> ids) {
  if (!has_place(row) || number > kLargest16 || ids.size() > kLargest16) return;
  const size_t size = kHeaderWords + (narrow_ ? (ids.size() + 1) / 2 : ids.size());
  if (used_.load(std::memory_order_relaxed) + size > words_) return;
  const size_t at = used_.fetch_add(size, std::memory_order_relaxed);
  if (at + size > words_) return;  // others took the rest; nothing fits from here on
  uint32_t* entry = &arena_[at];
  entry[1] = static_cast<uint32_t>(number << 16 | ids.size());
  uint32_t* stored = entry + kHeaderWords;
  for (size_t i = 0; i < ids.size(); ++i) {
    const auto id = static_cast<uint32_t>(ids[i]);
    if (!narrow_) {
      stored[i] = id;
    } else if (i % 2 == 0) {
      stored[i / 2] = id;
    } else {
      stored[i / 2] |= id << 16;
    }
  }
  // Two threads that keep the same caption at once leave it twice, which harms nothing.
  std::atomic<uint32_t>& head = heads_[static_cast<size_t>(row)];
  uint32_t next = head.load(std::memory_order_relaxed);
  do {
    entry[0] = next;
  } while (!head.compare_exchange_weak(next, static_cast<uint32_t>(at), std::memory_order_acq_rel,
                                       std::memory_order_relaxed));
}

int64_t CaptionCache::count(int64_t row) const {
  if (!has_place(row) || !counts_) return 0;
  return counts_[static_cast<size_t>(row)].load(std::memory_order_relaxed);
}

void CaptionCache::keep_count(int64_t row, int64_t count) {
  if (!has_place(row) || !counts_ || count > static_cast<int64_t>(kLargest16)) return;
  counts_[static_cast<size_t>(row)].store(static_cast<uint16_t>(count), std::memory_order_relaxed);
}

}  // namespace cantilever
