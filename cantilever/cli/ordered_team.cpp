#include "cantilever/cli/ordered_team.h"

#include <chrono>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

namespace cantilever {
namespace {

class Team {
 public:
  explicit Team(const OrderedWork& work)
      : work_(work), done_(static_cast<size_t>(work.window), false) {}

  int64_t run() {
    std::vector<std::thread> threads;
    try {
      for (int i = 0; i < work_.threads; ++i) threads.emplace_back([this, i] { make_items(i); });
      while (take_next()) {
      }
    } catch (...) {
      fail();
    }
    end();
    for (std::thread& thread : threads) thread.join();
    if (failed_) std::rethrow_exception(failed_);
    return taken_;
  }

 private:
  void make_items(int thread) {
    for (;;) {
      int64_t item = 0;
      {
        std::unique_lock lock(mutex_);
        room_.wait(lock,
                   [&] { return ended_ || next_ == work_.count || next_ < taken_ + work_.window; });
        if (ended_ || next_ == work_.count) return;
        item = next_++;
      }
      try {
        work_.make(item, item % work_.window, thread);
      } catch (...) {
        fail();
        return;
      }
      const std::lock_guard lock(mutex_);
      done_[static_cast<size_t>(item % work_.window)] = true;
      if (item == taken_) ready_.notify_one();
    }
  }

  // False at the end of the work.
  bool take_next() {
    const auto slot = static_cast<size_t>(taken_ % work_.window);
    {
      std::unique_lock lock(mutex_);
      if (taken_ == work_.count) return false;
      while (!done_[slot]) {
        if (failed_ || work_.should_stop()) return false;
        ready_.wait_for(lock, std::chrono::milliseconds(100));
      }
      if (failed_ || work_.should_stop()) return false;
    }
    work_.take(taken_, static_cast<int64_t>(slot));
    {
      const std::lock_guard lock(mutex_);
      done_[slot] = false;
      ++taken_;
    }
    room_.notify_one();
    return true;
  }

  void fail() {
    const std::lock_guard lock(mutex_);
    if (!failed_) failed_ = std::current_exception();
    ended_ = true;
    room_.notify_all();
    ready_.notify_all();
  }

  void end() {
    {
      const std::lock_guard lock(mutex_);
      ended_ = true;
    }
    room_.notify_all();
  }

  const OrderedWork& work_;
  std::mutex mutex_;               // guards everything below
  std::condition_variable room_;   // an item may be begun
  std::condition_variable ready_;  // the next one may be taken
  std::vector<bool> done_;
  int64_t next_ = 0;   // to be begun
  int64_t taken_ = 0;  // changed by the calling thread only
  bool ended_ = false;
  std::exception_ptr failed_;
};

}  // namespace

int64_t run_in_order(const OrderedWork& work) {
  return Team(work).run();
}

}  // namespace cantilever
