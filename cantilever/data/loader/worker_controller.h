#pragma once

#include <cstdint>

namespace cantilever {

// How many threads a loader needs, found while it runs: a thread more when the consumer waits, one
// less when it has not waited for a while, and back when that was one too many. A thread that does
// not help is given up, as the CPUs are busy then with something else. A pure function of what it
// is told, without a clock.
class WorkerController {
 public:
  // 1 <= first <= most.
  WorkerController(int first, int most) : most_(most), ceiling_(most), threads_(first) {}

  // What happened since the last call, or since the number of threads took effect.
  struct Window {
    double seconds = 0;
    double wait_seconds = 0;  // of the consumer
    int64_t images = 0;       // delivered
  };
  // The number of threads from now on.
  int decide(const Window& window);
  int threads() const { return threads_; }
  // The number has not changed for a while.
  bool settled() const { return unchanged_ >= kCalmWindows; }

  static constexpr double kWaits = 0.02;     // a share of waiting that is too much
  static constexpr double kIdles = 0.002;    // and one that is none
  static constexpr double kHelps = 1.05;     // more images a second by a useful thread, at least
  static constexpr int kCalmWindows = 4;     // before a thread is parked
  static constexpr int kFreshWindows = 100;  // until what was found is tried again

 private:
  enum class Trial { kNone, kAdded, kParked };
  int change(int threads, Trial trial, double rate);
  int stay();

  int most_;
  int floor_ = 1;  // fewer were too few
  int ceiling_;    // more did not help
  int threads_;
  Trial trial_ = Trial::kNone;
  double rate_before_ = 0;  // images a second before the trial
  int calm_ = 0;            // windows without waiting
  int unchanged_ = 0;
  int age_ = 0;  // windows since floor and ceiling were free
};

}  // namespace cantilever
