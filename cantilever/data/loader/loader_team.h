#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

namespace cantilever {

// Numbers 0, 1, 2 ... below a limit that rises, each given to one thread; one atomic operation a
// number, no lock.
class Tickets {
 public:
  // The next number, or -1 when all below the limit are taken.
  int64_t take() {
    int64_t ticket = next_.load(std::memory_order_relaxed);
    while (ticket < limit_.load(std::memory_order_acquire)) {
      if (next_.compare_exchange_weak(ticket, ticket + 1, std::memory_order_relaxed)) return ticket;
    }
    return -1;
  }
  // What the caller wrote before is seen by those who take a ticket below `limit`.
  void open(int64_t limit) { limit_.store(limit, std::memory_order_release); }
  // From 0 on, none open. No thread may be taking one.
  void reset() {
    limit_ = 0;
    next_ = 0;
  }

 private:
  alignas(64) std::atomic<int64_t> next_{0};
  alignas(64) std::atomic<int64_t> limit_{0};
};

// Threads that do pieces of work until there is none, then sleep until they are woken. The
// functions are called by one thread, except wake().
class LoaderTeam {
 public:
  // `work(worker)` does one piece and returns true, or returns false when there is nothing to do.
  // It must not throw. Workers are counted from 0.
  explicit LoaderTeam(std::function<bool(int)> work) : work_(std::move(work)) {}

  // Lets the first `threads` workers work and parks the others; starts those that do not run yet.
  // Each holds `owner` (of this object) while it lives. Throws std::system_error when no thread can
  // be started.
  void use(int threads, const std::shared_ptr<void>& owner);
  int threads() const { return active_.load(std::memory_order_relaxed); }
  // There may be work.
  void wake();
  // Returns once no thread is at work; none begins until release().
  void hold();
  void release();
  // Ends all threads. One that is still at work after `patience` is left behind and ends with its
  // piece of work. Returns how many were.
  int stop(std::chrono::milliseconds patience);

 private:
  struct alignas(64) Seat {
    std::atomic<bool> busy{false};
    bool ended = false;  // guarded by mutex_
    std::thread thread;
  };
  void run(int worker, Seat& seat);
  bool attempt(int worker, Seat& seat);
  bool all_ended() const;

  const std::function<bool(int)> work_;
  std::vector<std::unique_ptr<Seat>> seats_;
  std::atomic<int> active_{0};
  std::atomic<bool> held_{false};
  alignas(64) std::atomic<uint64_t> wakeups_{0};
  std::mutex mutex_;
  std::condition_variable woken_;    // wakeups_ has changed, or stopping_
  std::condition_variable stepped_;  // a thread has left its work while held_, or has ended
  bool stopping_ = false;
};

}  // namespace cantilever
