#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

namespace cantilever {

// Where the pictures of rows lie: a word a row, read without a lock. A row is empty, being made by
// one thread, or kept in a slot; kept rows stay so.
class CacheRows {
 public:
  explicit CacheRows(int64_t rows);

  int64_t size() const { return size_; }
  // The slot of a kept row.
  std::optional<int64_t> kept(int64_t row) const;
  // The slot of a row that the caller is making.
  int64_t made(int64_t row) const;
  // Empty -> being made; false when it is not empty. One thread wins.
  bool claim(int64_t row);
  void set_slot(int64_t row, int64_t slot);  // of a claimed row
  void publish(int64_t row);                 // being made -> kept
  void release(int64_t row);                 // being made -> empty

  static constexpr int64_t kMaxSlots = 0x7ffffffe;

 private:
  const std::atomic<uint32_t>& state(int64_t row) const;

  int64_t size_;
  std::unique_ptr<std::atomic<uint32_t>[]> states_;
};

// Hands out slots 0 .. limit - 1, given back ones first.
class CacheSlots {
 public:
  explicit CacheSlots(int64_t limit) : limit_(limit) {}

  std::optional<int64_t> take();
  void give(int64_t slot);
  // Of a file that holds slots already: `next` is the first one never used, `unused` lie before it.
  void resume(int64_t limit, int64_t next, std::vector<int64_t> unused);
  // No new slots from here on.
  void close();

 private:
  std::mutex mutex_;
  int64_t limit_;
  int64_t next_ = 0;
  std::vector<int64_t> free_;
};

// Check sum of a picture, another one for another row: four lanes of multiply and rotate, as fast
// as memory is read. Finds torn and rotten pictures; no defence against an attacker.
uint64_t pixel_sum(const void* pixels, size_t bytes, uint64_t row);

// 1234567 -> "1.2 MB".
std::string format_bytes(double bytes);

}  // namespace cantilever
