#pragma once

#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <string_view>

namespace cantilever {

// Ids of short pieces that were encoded before. One object a thread, shared by all tokenizers of
// the thread: an entry names its owner. An entry is one cache line; two places per piece, the newer
// one first. 1 MiB, never grows.
class WordCache {
 public:
  static constexpr size_t kMaxBytes = 24;
  static constexpr size_t kMaxIds = 6;

  struct Key {
    uint64_t words[3];  // the bytes, zeros behind them
    uint32_t owner;     // never 0
    uint32_t length;
  };

  struct alignas(64) Entry {
    Key key{};
    int32_t ids[kMaxIds]{};
    uint32_t count = 0;
  };

  // `readable` bytes may be read from piece.data(), at least piece.size(). piece.size() <=
  // kMaxBytes.
  static Key make_key(std::string_view piece, size_t readable, uint32_t owner) {
    Key key{{0, 0, 0}, owner, static_cast<uint32_t>(piece.size())};
    if (readable >= kMaxBytes) [[likely]] {
      std::memcpy(key.words, piece.data(), kMaxBytes);
      for (size_t i = 0; i < 3; ++i) key.words[i] &= mask(piece.size(), i);
    } else {
      std::memcpy(key.words, piece.data(), piece.size());
    }
    return key;
  }

  const Entry* find(const Key& key) const {
    const size_t place = place_of(key);
    if (equal(entries_[place].key, key)) return &entries_[place];
    if (equal(entries_[place ^ 1].key, key)) return &entries_[place ^ 1];
    return nullptr;
  }

  // ids.size() <= kMaxIds.
  void insert(const Key& key, std::span<const int32_t> ids) {
    const size_t place = place_of(key);
    entries_[place ^ 1] = entries_[place];
    Entry& entry = entries_[place];
    entry.key = key;
    entry.count = static_cast<uint32_t>(ids.size());
    std::memcpy(entry.ids, ids.data(), ids.size_bytes());
  }

 private:
  static constexpr int kPlacesLog2 = 14;

  static uint64_t mask(size_t length, size_t word) {
    const size_t begin = word * 8;
    if (length >= begin + 8) return ~uint64_t{0};
    if (length <= begin) return 0;
    // The machine is little endian: the first byte is the lowest.
    return (uint64_t{1} << ((length - begin) * 8)) - 1;
  }

  static bool equal(const Key& a, const Key& b) {
    return ((a.words[0] ^ b.words[0]) | (a.words[1] ^ b.words[1]) | (a.words[2] ^ b.words[2]) |
            (a.owner ^ b.owner) | (a.length ^ b.length)) == 0;
  }

  static size_t place_of(const Key& key) {
    uint64_t hash = key.words[0] * 0x9E3779B97F4A7C15U;
    hash = (hash ^ (hash >> 32) ^ key.words[1]) * 0xD6E8FEB86659FD93U;
    hash = (hash ^ (hash >> 32) ^ key.words[2] ^ key.owner) * 0x9E3779B97F4A7C15U;
    return static_cast<size_t>(hash >> (64 - kPlacesLog2));
  }

  std::unique_ptr<Entry[]> entries_ = std::make_unique<Entry[]>(size_t{1} << kPlacesLog2);
};

}  // namespace cantilever
