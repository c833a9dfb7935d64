#include "cantilever/data/device/encoded_arena.h"

#include <algorithm>

#include "cantilever/base/error.h"

namespace cantilever {
namespace {

constexpr size_t kAlignment = 64;
constexpr size_t kReadAhead = 64;

}  // namespace

void EncodedArena::clear() {
  ranges_.clear();
  used_ = 0;
}

size_t EncodedArena::add(std::span<const std::byte> encoded) {
  const size_t padded = (encoded.size() + kReadAhead + kAlignment - 1) / kAlignment * kAlignment;
  if (used_ + padded > bytes_.size()) bytes_.resize(std::max(used_ + padded, bytes_.size() * 2));
  std::byte* to = bytes_.data() + used_;
  std::copy(encoded.begin(), encoded.end(), to);
  std::fill(to + encoded.size(), to + padded, std::byte{0});
  ranges_.push_back({used_, encoded.size()});
  used_ += padded;
  return ranges_.size() - 1;
}

std::span<const std::byte> EncodedArena::picture(size_t i) const {
  CANTILEVER_ASSERT(i < ranges_.size(), "picture ", i, " of ", ranges_.size());
  return {bytes_.data() + ranges_[i].begin, ranges_[i].size};
}

}  // namespace cantilever
