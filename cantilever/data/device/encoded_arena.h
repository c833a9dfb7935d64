#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace cantilever {

// The encoded pictures of a batch, one behind the other in one block of memory that is kept from
// batch to batch: what a device fetches at once. Pictures start at multiples of 64 bytes of the
// block and have 64 zero bytes behind them, for decoders that read ahead. Used by one thread at a
// time.
class EncodedArena {
 public:
  // Takes all pictures out; the memory stays.
  void clear();
  // Copies the bytes in and returns the picture's number: 0, 1, 2 ... since clear(). Spans that
  // picture() gave before may be invalid afterwards.
  size_t add(std::span<const std::byte> encoded);
  std::span<const std::byte> picture(size_t i) const;
  size_t size() const { return ranges_.size(); }
  size_t bytes() const { return used_; }  // of memory in use, padding included

 private:
  struct Range {
    size_t begin = 0;
    size_t size = 0;
  };
  std::vector<std::byte> bytes_;
  size_t used_ = 0;
  std::vector<Range> ranges_;
};

}  // namespace cantilever
