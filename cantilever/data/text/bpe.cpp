#include "cantilever/data/text/bpe.h"

#include <algorithm>
#include <bit>
#include <limits>

#include "cantilever/base/error.h"

namespace cantilever {
namespace {

constexpr int32_t kRemoved = -2;
constexpr size_t kShort = 32;
constexpr int32_t kNoRank = std::numeric_limits<int32_t>::max();

bool later(const BpeScratch::Candidate& a, const BpeScratch::Candidate& b) {
  return a.order > b.order;
}

}  // namespace

BpeModel::BpeModel(const std::array<int32_t, 256>& byte_ids, const std::vector<BpeMerge>& merges,
                   int32_t fuse_id)
    : byte_ids_(byte_ids), fuse_id_(fuse_id) {
  const size_t size = std::bit_ceil(std::max<size_t>(merges.size() * 2, 2));
  slots_.assign(size, Slot{});
  mask_ = size - 1;
  shift_ = 64 - std::countr_zero(size);
  for (size_t rank = 0; rank < merges.size(); ++rank) {
    const BpeMerge& merge = merges[rank];
    const uint64_t pair = key(merge.left, merge.right);
    size_t i = home(pair);
    while (slots_[i].pair != kFree && slots_[i].pair != pair) i = (i + 1) & mask_;
    // A pair listed twice keeps its later rank, as in the `tokenizers` library.
    slots_[i] = {pair, static_cast<int32_t>(rank), merge.result};
  }
}

void BpeModel::encode(std::string_view piece, BpeScratch& scratch,
                      std::vector<int32_t>& out) const {
  if (piece.size() <= kShort) {
    encode_short(piece, out);
  } else {
    encode_long(piece, scratch, out);
  }
}

size_t BpeModel::start_ids(std::string_view piece, int32_t* ids) const {
  size_t count = 0;
  for (const char byte : piece) {
    const int32_t id = byte_ids_[static_cast<unsigned char>(byte)];
    if (id == kNoId) continue;
    if (id == fuse_id_ && count > 0 && ids[count - 1] == id) continue;
    ids[count++] = id;
  }
  return count;
}

void BpeModel::encode_short(std::string_view piece, std::vector<int32_t>& out) const {
  std::array<int32_t, kShort> ids{};
  std::array<int32_t, kShort> ranks{};  // of the pair that starts here
  std::array<int32_t, kShort> results{};
  size_t count = start_ids(piece, ids.data());
  const auto look_up = [&](size_t i) {
    const Slot* slot = find(ids[i], ids[i + 1]);
    ranks[i] = slot == nullptr ? kNoRank : slot->rank;
    if (slot != nullptr) results[i] = slot->result;
  };
  for (size_t i = 0; i + 1 < count; ++i) look_up(i);
  while (count > 1) {
    const auto pairs = static_cast<ptrdiff_t>(count - 1);
    const auto best =
        static_cast<size_t>(std::min_element(ranks.begin(), ranks.begin() + pairs) - ranks.begin());
    if (ranks[best] == kNoRank) break;
    ids[best] = results[best];
    --count;
    for (size_t i = best + 1; i < count; ++i) {
      ids[i] = ids[i + 1];
      ranks[i] = ranks[i + 1];
      results[i] = results[i + 1];
    }
    if (best > 0) look_up(best - 1);
    if (best + 1 < count) look_up(best);
  }
  out.insert(out.end(), ids.begin(), ids.begin() + static_cast<ptrdiff_t>(count));
}

void BpeModel::push(BpeScratch& scratch, int32_t position) const {
  const auto& left = scratch.symbols[static_cast<size_t>(position)];
  const auto& right = scratch.symbols[static_cast<size_t>(left.next)];
  const Slot* slot = find(left.id, right.id);
  if (slot == nullptr) return;
  const uint64_t order = static_cast<uint64_t>(slot->rank) << 32 | static_cast<uint32_t>(position);
  scratch.queue.push_back({order, slot->result});
  std::push_heap(scratch.queue.begin(), scratch.queue.end(), later);
}

// A candidate is out of date when the pair at its place no longer makes the piece that it says: the
// text under a place only grows, so equal pieces mean the same two parts.
void BpeModel::encode_long(std::string_view piece, BpeScratch& scratch,
                           std::vector<int32_t>& out) const {
  CANTILEVER_CHECK(piece.size() <= static_cast<size_t>(std::numeric_limits<int32_t>::max()),
                   "a piece of text without a break has ", piece.size(),
                   " bytes; at most 2^31 - 1 can be tokenised");
  std::vector<int32_t> ids(piece.size());
  ids.resize(start_ids(piece, ids.data()));
  auto& symbols = scratch.symbols;
  auto& queue = scratch.queue;
  symbols.clear();
  queue.clear();
  const auto count = static_cast<int32_t>(ids.size());
  for (int32_t i = 0; i < count; ++i) {
    symbols.push_back({ids[static_cast<size_t>(i)], i - 1, i + 1 < count ? i + 1 : -1});
  }
  for (int32_t i = 0; i + 1 < count; ++i) push(scratch, i);
  while (!queue.empty()) {
    std::pop_heap(queue.begin(), queue.end(), later);
    const BpeScratch::Candidate top = queue.back();
    queue.pop_back();
    const auto position = static_cast<int32_t>(top.order & 0xFFFFFFFFU);
    auto& left = symbols[static_cast<size_t>(position)];
    if (left.next < 0) continue;
    auto& right = symbols[static_cast<size_t>(left.next)];
    const Slot* slot = find(left.id, right.id);
    if (slot == nullptr || slot->result != top.result) continue;
    left.id = top.result;
    left.next = right.next;
    right.next = kRemoved;
    if (left.next >= 0) {
      symbols[static_cast<size_t>(left.next)].previous = position;
      push(scratch, position);
    }
    if (left.previous >= 0) push(scratch, left.previous);
  }
  for (const auto& symbol : symbols) {
    if (symbol.next != kRemoved) out.push_back(symbol.id);
  }
}

}  // namespace cantilever
