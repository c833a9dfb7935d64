#pragma once

#include <cstdint>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <tuple>

namespace cantilever {

// One column of one row group of one file.
struct BlockKey {
  int64_t file = 0;
  int64_t group = 0;
  int64_t column = 0;
  auto operator<=>(const BlockKey&) const = default;
};

// The blocks used last, up to a number of bytes (always at least one). Value has `int64_t bytes`.
// Several threads may ask at once; a block that two want is loaded once. A block in use stays alive
// through its shared_ptr after it left the cache.
template <class Value>
class BlockCache {
 public:
  using Loader = std::function<std::shared_ptr<const Value>()>;

  explicit BlockCache(int64_t limit_bytes) : limit_bytes_(limit_bytes) {}

  std::shared_ptr<const Value> get(const BlockKey& key, const Loader& load) {
    const std::shared_ptr<Entry> entry = touch(key);
    const std::lock_guard loading(entry->mutex);
    if (entry->value) return entry->value;
    entry->value = load();  // an exception leaves the entry empty: the next caller tries again
    account(key, entry);
    return entry->value;
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
    int64_t bytes = 0;  // 0 while it is loading
  };

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

  void account(const BlockKey& key, const std::shared_ptr<Entry>& entry) {
    const std::lock_guard lock(mutex_);
    const auto found = places_.find(key);
    if (found == places_.end() || found->second.entry != entry) return;  // dropped meanwhile
    found->second.bytes = entry->value->bytes;
    bytes_ += entry->value->bytes;
    while (bytes_ > limit_bytes_ && recent_.size() > 1) {
      const auto oldest = places_.find(recent_.back());
      bytes_ -= oldest->second.bytes;
      places_.erase(oldest);
      recent_.pop_back();
    }
  }

  const int64_t limit_bytes_;
  mutable std::mutex mutex_;
  std::list<BlockKey> recent_;  // newest first
  std::map<BlockKey, Place> places_;
  int64_t bytes_ = 0;
};

}  // namespace cantilever
