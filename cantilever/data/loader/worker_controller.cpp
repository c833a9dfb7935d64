#include "cantilever/data/loader/worker_controller.h"

namespace cantilever {

int WorkerController::change(int threads, Trial trial, double rate) {
  threads_ = threads;
  trial_ = trial;
  rate_before_ = rate;
  calm_ = 0;
  unchanged_ = 0;
  return threads_;
}

int WorkerController::stay() {
  trial_ = Trial::kNone;
  ++unchanged_;
  return threads_;
}

int WorkerController::decide(const Window& window) {
  if (window.seconds <= 0) return threads_;
  const double waits = window.wait_seconds / window.seconds;
  const double rate = static_cast<double>(window.images) / window.seconds;
  if (++age_ >= kFreshWindows) {
    age_ = 0;
    floor_ = 1;
    ceiling_ = most_;
  }
  if (trial_ == Trial::kParked && waits > kWaits) {
    floor_ = threads_ + 1;
    return change(floor_, Trial::kNone, rate);
  }
  if (trial_ == Trial::kAdded && waits > kWaits && rate < rate_before_ * kHelps) {
    ceiling_ = threads_ - 1;
    return change(ceiling_, Trial::kNone, rate);
  }
  if (waits > kWaits) {
    calm_ = 0;
    return threads_ < ceiling_ ? change(threads_ + 1, Trial::kAdded, rate) : stay();
  }
  calm_ = waits < kIdles ? calm_ + 1 : 0;
  if (calm_ >= kCalmWindows && threads_ > floor_) {
    return change(threads_ - 1, Trial::kParked, rate);
  }
  return stay();
}

}  // namespace cantilever
