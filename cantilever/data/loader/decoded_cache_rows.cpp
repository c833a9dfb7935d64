#include "cantilever/data/loader/decoded_cache_rows.h"

#include <bit>
#include <cstdio>
#include <cstring>

#include "cantilever/base/error.h"
#include "cantilever/base/rng.h"

namespace cantilever {
namespace {

// 0: empty. Else the slot plus one, with this bit when the picture is kept.
constexpr uint32_t kKept = 0x80000000U;
constexpr uint32_t kClaimed = 0x7fffffffU;  // no slot yet

}  // namespace

CacheRows::CacheRows(int64_t rows) : size_(rows) {
  CANTILEVER_CHECK(rows >= 0 && rows <= kMaxSlots, "a cache for ", rows, " rows is not possible");
  states_ = std::make_unique<std::atomic<uint32_t>[]>(static_cast<size_t>(rows));
}

const std::atomic<uint32_t>& CacheRows::state(int64_t row) const {
  CANTILEVER_ASSERT(row >= 0 && row < size_, "row ", row, " of ", size_);
  return states_[static_cast<size_t>(row)];
}

std::optional<int64_t> CacheRows::kept(int64_t row) const {
  const uint32_t found = state(row).load(std::memory_order_acquire);
  if ((found & kKept) == 0) return std::nullopt;
  return int64_t{found & ~kKept} - 1;
}

int64_t CacheRows::made(int64_t row) const {
  const uint32_t found = state(row).load(std::memory_order_relaxed);
  CANTILEVER_ASSERT(found != 0 && found < kClaimed, "row ", row, " is not being made");
  return int64_t{found} - 1;
}

bool CacheRows::claim(int64_t row) {
  uint32_t empty = 0;
  return const_cast<std::atomic<uint32_t>&>(state(row))
      .compare_exchange_strong(empty, kClaimed, std::memory_order_acquire,
                               std::memory_order_relaxed);
}

void CacheRows::set_slot(int64_t row, int64_t slot) {
  states_[static_cast<size_t>(row)].store(static_cast<uint32_t>(slot + 1),
                                          std::memory_order_relaxed);
}

void CacheRows::publish(int64_t row) {
  states_[static_cast<size_t>(row)].store(static_cast<uint32_t>(made(row) + 1) | kKept,
                                          std::memory_order_release);
}

void CacheRows::release(int64_t row) {
  states_[static_cast<size_t>(row)].store(0, std::memory_order_release);
}

std::optional<int64_t> CacheSlots::take() {
  const std::lock_guard lock(mutex_);
  if (!free_.empty()) {
    const int64_t slot = free_.back();
    free_.pop_back();
    return slot;
  }
  if (next_ >= limit_) return std::nullopt;
  return next_++;
}

void CacheSlots::give(int64_t slot) {
  const std::lock_guard lock(mutex_);
  free_.push_back(slot);
}

void CacheSlots::resume(int64_t limit, int64_t next, std::vector<int64_t> unused) {
  const std::lock_guard lock(mutex_);
  limit_ = limit;
  next_ = next;
  free_ = std::move(unused);
}

void CacheSlots::close() {
  const std::lock_guard lock(mutex_);
  limit_ = next_;
}

uint64_t pixel_sum(const void* pixels, size_t bytes, uint64_t row) {
  constexpr uint64_t kFactors[4] = {0x9e3779b97f4a7c15U, 0xc2b2ae3d27d4eb4fU, 0xd6e8feb86659fd93U,
                                    0xff51afd7ed558ccdU};
  uint64_t lanes[4] = {row, ~row, row * kFactors[2], bytes};
  const auto* from = static_cast<const unsigned char*>(pixels);
  const auto mix = [&](const unsigned char* block) {
    for (size_t lane = 0; lane < 4; ++lane) {
      uint64_t word = 0;
      std::memcpy(&word, block + 8 * lane, 8);
      lanes[lane] = std::rotl((lanes[lane] ^ word) * kFactors[lane], 29);
    }
  };
  size_t done = 0;
  for (; done + 32 <= bytes; done += 32) mix(from + done);
  unsigned char rest[32] = {};
  std::memcpy(rest, from + done, bytes - done);
  mix(rest);
  return mix_key(mix_key(lanes[0], lanes[1]), mix_key(lanes[2], lanes[3]));
}

std::string format_bytes(double bytes) {
  const char* const units[] = {"bytes", "KB", "MB", "GB", "TB"};
  size_t unit = 0;
  while (bytes >= 1000 && unit < 4) {
    bytes /= 1000;
    ++unit;
  }
  char text[32];
  std::snprintf(text, sizeof text, unit == 0 ? "%.0f %s" : "%.1f %s", bytes, units[unit]);
  return text;
}

}  // namespace cantilever
