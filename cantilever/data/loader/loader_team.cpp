#include "cantilever/data/loader/loader_team.h"

#include <pthread.h>
#include <sched.h>

#include <algorithm>
#include <string>

namespace cantilever {
namespace {

// A thread that computes without pause should not push the trainer's threads off their CPUs each
// time it wakes: SCHED_BATCH says so and takes no share of time away. Where it is refused nothing
// is lost.
void become_background(int worker) {
  const sched_param none{};
  ::pthread_setschedparam(::pthread_self(), SCHED_BATCH, &none);
  const std::string name = "loader " + std::to_string(worker);
  ::pthread_setname_np(::pthread_self(), name.c_str());
}

}  // namespace

void LoaderTeam::use(int threads, const std::shared_ptr<void>& owner) {
  while (static_cast<int>(seats_.size()) < threads) {
    const int worker = static_cast<int>(seats_.size());
    Seat& seat = *seats_.emplace_back(std::make_unique<Seat>());
    try {
      seat.thread = std::thread([this, owner, worker, &seat] { run(worker, seat); });
    } catch (...) {
      seats_.pop_back();
      throw;
    }
  }
  active_ = threads;
  wake();
}

void LoaderTeam::wake() {
  {
    const std::lock_guard lock(mutex_);
    wakeups_.fetch_add(1, std::memory_order_release);
  }
  woken_.notify_all();
}

void LoaderTeam::run(int worker, Seat& seat) {
  become_background(worker);
  for (;;) {
    // Read before the attempt: a wake-up that comes after it is not missed.
    const uint64_t seen = wakeups_.load(std::memory_order_acquire);
    if (attempt(worker, seat)) continue;
    std::unique_lock lock(mutex_);
    woken_.wait(lock,
                [&] { return stopping_ || wakeups_.load(std::memory_order_relaxed) != seen; });
    if (stopping_) break;
  }
  const std::lock_guard lock(mutex_);
  seat.ended = true;
  stepped_.notify_all();
}

// The flag is raised before held_ is looked at, and hold() does it the other way round: one of the
// two sees the other.
bool LoaderTeam::attempt(int worker, Seat& seat) {
  seat.busy.store(true);
  bool worked = false;
  if (!held_.load() && worker < active_.load(std::memory_order_relaxed)) worked = work_(worker);
  seat.busy.store(false);
  if (held_.load()) {
    const std::lock_guard lock(mutex_);
    stepped_.notify_all();
    return false;
  }
  return worked;
}

void LoaderTeam::hold() {
  held_.store(true);
  std::unique_lock lock(mutex_);
  stepped_.wait(lock, [&] {
    return std::none_of(seats_.begin(), seats_.end(),
                        [](const auto& seat) { return seat->busy.load(); });
  });
}

void LoaderTeam::release() {
  held_.store(false);
  wake();
}

bool LoaderTeam::all_ended() const {
  return std::all_of(seats_.begin(), seats_.end(), [](const auto& seat) { return seat->ended; });
}

int LoaderTeam::stop(std::chrono::milliseconds patience) {
  held_.store(true);  // no further piece
  std::unique_lock lock(mutex_);
  stopping_ = true;
  woken_.notify_all();
  stepped_.wait_for(lock, patience, [&] { return all_ended(); });
  int left = 0;
  for (const auto& seat : seats_) {
    if (seat->ended) continue;
    seat->thread.detach();
    ++left;
  }
  lock.unlock();
  for (const auto& seat : seats_) {
    if (seat->thread.joinable()) seat->thread.join();
  }
  return left;
}

}  // namespace cantilever
