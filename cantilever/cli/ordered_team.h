#pragma once

#include <cstdint>
#include <functional>

namespace cantilever {

// Work whose results are wanted in order but can be made in any.
struct OrderedWork {
  int64_t count = 0;    // items 0 .. count - 1
  int threads = 1;      // that make
  int64_t window = 64;  // items made ahead of the one that is taken next: result slots
  // Makes item into slot item % window; called by several threads at once. What it throws ends the
  // work and is thrown again by run_in_order.
  std::function<void(int64_t item, int64_t slot, int thread)> make;
  // Takes the result of the next item, in the calling thread.
  std::function<void(int64_t item, int64_t slot)> take;
  // Asked several times a second: true ends the work after the items that are being made.
  std::function<bool()> should_stop;
};

// Returns how many items were taken.
int64_t run_in_order(const OrderedWork& work);

}  // namespace cantilever
