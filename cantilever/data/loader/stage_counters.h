#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>

namespace cantilever {

using StageClock = std::chrono::steady_clock;

inline double seconds_between(StageClock::time_point begin, StageClock::time_point end) {
  return std::chrono::duration<double>(end - begin).count();
}

// What one thread has done, on cache lines of its own. Only that thread adds, so an addition is a
// plain load and store; any thread may read.
struct alignas(64) StageCounters {
  std::atomic<double> read{0};  // seconds
  std::atomic<double> decode{0};
  std::atomic<double> transform{0};
  std::atomic<double> tokenize{0};
  std::atomic<double> device{0};
  std::atomic<int64_t> cache_hits{0};
  std::atomic<int64_t> caption_hits{0};
  std::atomic<int64_t> device_images{0};
  std::atomic<int64_t> device_unsupported{0};
  std::atomic<int64_t> device_failed{0};

  template <class T>
  static void add(std::atomic<T>& counter, T value) {
    counter.store(counter.load(std::memory_order_relaxed) + value, std::memory_order_relaxed);
  }
};

}  // namespace cantilever
