#pragma once

#include <condition_variable>
#include <cstdint>
#include <list>
#include <map>
#include <memory>
#include <mutex>

namespace cantilever {

// A page (or a whole column, page 0) of one column of one row group or batch of one file.
struct BlockKey {
  int64_t file = 0;
  int64_t group = 0;
  int64_t column = 0;
  int64_t page = 0;
  auto operator<=>(const BlockKey&) const = default;
};

// The blocks used last. Value has `int64_t bytes`, what it holds of anonymous memory. Blocks kept
// and blocks being loaded are together at most `limit_bytes`, or one block when that is larger: a
// load that would exceed it waits for the others.
//
// Several threads may ask at once; a block that two want is loaded once. A block in use stays alive
// through its shared_ptr after it left the cache.
template <class Value>
class BlockCache {
 public:
  explicit BlockCache(int64_t limit_bytes) : limit_bytes_(limit_bytes) {}

  // `expect()` gives the bytes that `load()` is going to need, `load()` the block as
  // shared_ptr<const Value>; both are called only when it is not there. What they throw reaches the
  // caller, and the next one tries again.
  template <class Expect, class Load>
  std::shared_ptr<const Value> get(const BlockKey& key, const Expect& expect, const Load& load) {
    const std::shared_ptr<Entry> entry = touch(key);
    const std::lock_guard loading(entry->mutex);
    if (entry->value) return entry->value;
    int64_t reserved = -1;
    try {
      const int64_t expected = expect();
      reserve(expected);
      reserved = expected;
      entry->value = load();
    } catch (...) {
      forget(key, entry, reserved);
      throw;
    }
    account(key, entry, reserved);
    return entry->value;
  }

  template <class Load>
  std::shared_ptr<const Value> get(const BlockKey& key, const Load& load) {
    return get(key, [] { return int64_t{0}; }, load);
  }

  int64_t bytes() const {
    const std::lock_guard lock(mutex_);
    return bytes_;
  }

 private:
  struct Entry {
    std::mutex mutex;  // held while loading
    std::shared_ptr<const Value> value;
  };
  struct Place {
    std::shared_ptr<Entry> entry;
    std::list<BlockKey>::iterator recent;
    int64_t bytes = kLoading;
  };
  static constexpr int64_t kLoading = -1;

  std::shared_ptr<Entry> touch(const BlockKey& key) {
    const std::lock_guard lock(mutex_);
    auto found = places_.find(key);
    if (found == places_.end()) {
      recent_.push_front(key);
      found = places_.emplace(key, Place{std::make_shared<Entry>(), recent_.begin()}).first;
    } else {
      recent_.splice(recent_.begin(), recent_, found->second.recent);
    }
    return found->second.entry;
  }

  // Drops the oldest blocks until `incoming` more bytes fit, except `keep` and what is being
  // loaded.
  void make_room(int64_t incoming, const BlockKey* keep) {
    auto oldest = recent_.end();
    while (oldest != recent_.begin() && bytes_ + in_flight_ + incoming > limit_bytes_) {
      --oldest;
      const auto place = places_.find(*oldest);
      if (place->second.bytes == kLoading || (keep != nullptr && *oldest == *keep)) continue;
      bytes_ -= place->second.bytes;
      places_.erase(place);
      oldest = recent_.erase(oldest);
    }
  }

  void reserve(int64_t expected) {
    std::unique_lock lock(mutex_);
    landed_.wait(lock, [&] { return in_flight_ == 0 || in_flight_ + expected <= limit_bytes_; });
    make_room(expected, nullptr);
    in_flight_ += expected;
  }

  void account(const BlockKey& key, const std::shared_ptr<Entry>& entry, int64_t reserved) {
    {
      const std::lock_guard lock(mutex_);
      in_flight_ -= reserved;
      const auto found = places_.find(key);
      if (found != places_.end() && found->second.entry == entry) {
        found->second.bytes = entry->value->bytes;
        bytes_ += entry->value->bytes;
        make_room(0, &key);
      }
    }
    landed_.notify_all();
  }

  void forget(const BlockKey& key, const std::shared_ptr<Entry>& entry, int64_t reserved) {
    {
      const std::lock_guard lock(mutex_);
      if (reserved > 0) in_flight_ -= reserved;
      const auto found = places_.find(key);
      if (found != places_.end() && found->second.entry == entry) {
        recent_.erase(found->second.recent);
        places_.erase(found);
      }
    }
    landed_.notify_all();
  }

  const int64_t limit_bytes_;
  mutable std::mutex mutex_;
  std::condition_variable landed_;
  std::list<BlockKey> recent_;  // newest first
  std::map<BlockKey, Place> places_;
  int64_t bytes_ = 0;      // of blocks kept
  int64_t in_flight_ = 0;  // of blocks being loaded
};

}  // namespace cantilever
