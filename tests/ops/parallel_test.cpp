#include <ATen/Parallel.h>
#include <gtest/gtest.h>

#include <atomic>
#include <set>
#include <thread>
#include <vector>

namespace cantilever {
namespace {

// at::parallel_for is inline: a file compiled without -fopenmp would run it on one thread, silently
// (ARCHITECTURE.md, traps).
TEST(Parallel, ParallelForUsesAllThreads) {
  const int before = at::get_num_threads();
  for (const int threads : {1, 2, 3}) {
    at::set_num_threads(threads);
    std::vector<int> numbers(static_cast<size_t>(threads), -1);
    std::vector<std::thread::id> ids(static_cast<size_t>(threads));
    at::parallel_for(0, threads, 1, [&](int64_t first, int64_t last) {
      for (int64_t i = first; i < last; ++i) {
        numbers[static_cast<size_t>(i)] = at::get_thread_num();
        ids[static_cast<size_t>(i)] = std::this_thread::get_id();
      }
    });
    EXPECT_EQ(std::set<int>(numbers.begin(), numbers.end()).size(), static_cast<size_t>(threads));
    EXPECT_EQ(std::set<std::thread::id>(ids.begin(), ids.end()).size(),
              static_cast<size_t>(threads));
  }
  at::set_num_threads(before);
}

}  // namespace
}  // namespace cantilever
