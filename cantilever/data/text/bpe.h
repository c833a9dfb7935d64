#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

namespace cantilever {

// Two neighbouring pieces that become one; the place in the list is the rank, lower goes first.
struct BpeMerge {
  int32_t left;
  int32_t right;
  int32_t result;
};

// Buffers of BpeModel::encode, kept between calls. One for each thread.
struct BpeScratch {
  struct Symbol {
    int32_t id;
    int32_t previous;  // -1: none
    int32_t next;      // -1: none; kRemoved: merged into an earlier one
  };
  struct Candidate {
    uint64_t order;  // rank in the upper half, position in the lower
    int32_t result;
  };
  std::vector<Symbol> symbols;
  std::vector<Candidate> queue;
};

// Byte pair encoding of one piece of text: the pair of lowest rank is merged first, the leftmost of
// equal ones, until no pair is in the list.
class BpeModel {
 public:
  static constexpr int32_t kNoId = -1;

  BpeModel() = default;
  // byte_ids: the id that each byte starts as; kNoId leaves the byte out, as the `tokenizers`
  // library does when it has no unknown piece. fuse_id: neighbours of this id become one (the
  // option fuse_unk), kNoId for none.
  BpeModel(const std::array<int32_t, 256>& byte_ids, const std::vector<BpeMerge>& merges,
           int32_t fuse_id);

  // Appends the ids of the bytes of one piece. n bytes take O(n log n).
  void encode(std::string_view piece, BpeScratch& scratch, std::vector<int32_t>& out) const;

 private:
  struct Slot {
    uint64_t pair = kFree;
    int32_t rank = 0;
    int32_t result = 0;
  };
  static constexpr uint64_t kFree = ~uint64_t{0};

  const Slot* find(int32_t left, int32_t right) const {
    const uint64_t pair = key(left, right);
    for (size_t i = home(pair);; i = (i + 1) & mask_) {
      if (slots_[i].pair == pair) return &slots_[i];
      if (slots_[i].pair == kFree) return nullptr;
    }
  }
  static uint64_t key(int32_t left, int32_t right) {
    return static_cast<uint64_t>(static_cast<uint32_t>(left)) << 32 | static_cast<uint32_t>(right);
  }
  size_t home(uint64_t pair) const {
    return static_cast<size_t>((pair * 0x9E3779B97F4A7C15U) >> shift_);
  }

  size_t start_ids(std::string_view piece, int32_t* ids) const;
  void encode_short(std::string_view piece, std::vector<int32_t>& out) const;
  void encode_long(std::string_view piece, BpeScratch& scratch, std::vector<int32_t>& out) const;
  void push(BpeScratch& scratch, int32_t position) const;

  std::array<int32_t, 256> byte_ids_{};
  int32_t fuse_id_ = kNoId;
  std::vector<Slot> slots_{1};
  size_t mask_ = 0;
  int shift_ = 63;
};

}  // namespace cantilever
