#pragma once

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <string>

namespace cantilever {

// A bar on a terminal, redrawn at most ten times a second; in a file or pipe a plain line at most
// every ten seconds and one at the end. `tail` is the caller's short text (loss, samples/s).
// Used by one thread.
class Progress {
 public:
  // first: work that was already done (a resumed run); it does not count for the time left.
  Progress(std::string label, int64_t total, bool enabled = true, int64_t first = 0,
           std::FILE* out = stderr);
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  void update(int64_t done, const std::string& tail = "");
  // A line of text above the bar.
  void print_line(const std::string& line);
  void finish();

 private:
  using Clock = std::chrono::steady_clock;
  std::string line() const;
  void clear_bar();

  std::string label_;
  int64_t total_;
  int64_t first_;
  int64_t done_;
  std::string tail_;
  bool enabled_;
  bool terminal_;
  bool drawn_ = false;
  bool finished_ = false;
  std::FILE* out_;
  Clock::time_point start_;
  Clock::time_point last_;
};

// 75 -> "1:15", 3675 -> "1:01:15".
std::string format_seconds(double seconds);

}  // namespace cantilever
