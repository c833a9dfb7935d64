#include "cantilever/base/progress.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>

#include "cantilever/base/error.h"

namespace cantilever {
namespace {

int terminal_columns(std::FILE* out) {
  winsize size{};
  if (::ioctl(::fileno(out), TIOCGWINSZ, &size) == 0 && size.ws_col > 20) return size.ws_col;
  return 80;
}

}  // namespace

std::string format_seconds(double seconds) {
  if (!std::isfinite(seconds) || seconds < 0) return "?";
  const auto whole = static_cast<int64_t>(std::llround(seconds));
  char text[32];
  if (whole >= 3600) {
    std::snprintf(text, sizeof text, "%lld:%02lld:%02lld", static_cast<long long>(whole / 3600),
                  static_cast<long long>(whole / 60 % 60), static_cast<long long>(whole % 60));
  } else {
    std::snprintf(text, sizeof text, "%lld:%02lld", static_cast<long long>(whole / 60),
                  static_cast<long long>(whole % 60));
  }
  return text;
}

Progress::Progress(std::string label, int64_t total, bool enabled, int64_t first, std::FILE* out)
    : label_(std::move(label)),
      total_(total),
      first_(first),
      done_(first),
      enabled_(enabled),
      terminal_(::isatty(::fileno(out)) != 0),
      out_(out),
      start_(Clock::now()),
      last_(terminal_ ? Clock::time_point{} : start_) {}

Progress::~Progress() {
  finish();
}

std::string Progress::line() const {
  const double elapsed = std::chrono::duration<double>(Clock::now() - start_).count();
  const int64_t here = done_ - first_;
  const double left =
      here > 0 ? elapsed / static_cast<double>(here) * static_cast<double>(total_ - done_) : NAN;
  std::string text = concat(label_, " ", done_, "/", total_);
  if (terminal_) {
    constexpr int64_t kWidth = 16;
    const int64_t filled = total_ > 0 ? std::clamp(kWidth * done_ / total_, int64_t{0}, kWidth) : 0;
    text += " [";
    text.append(static_cast<size_t>(filled), '#');
    text.append(static_cast<size_t>(kWidth - filled), '.');
    text += "]";
  }
  text += concat(" ", format_seconds(elapsed), "<", format_seconds(left));
  if (!tail_.empty()) text += " " + tail_;
  return text;
}

void Progress::clear_bar() {
  if (drawn_) std::fputs("\r\033[K", out_);
  drawn_ = false;
}

void Progress::update(int64_t done, const std::string& tail) {
  done_ = done;
  tail_ = tail;
  if (!enabled_ || finished_) return;
  const auto now = Clock::now();
  const auto pause = terminal_ ? std::chrono::milliseconds(100) : std::chrono::milliseconds(10000);
  if (now - last_ < pause) return;
  last_ = now;
  if (terminal_) {
    clear_bar();
    const std::string text = line();
    std::fputs(text.substr(0, static_cast<size_t>(terminal_columns(out_) - 1)).c_str(), out_);
    drawn_ = true;
  } else {
    std::fputs((line() + "\n").c_str(), out_);
  }
  std::fflush(out_);
}

void Progress::print_line(const std::string& line) {
  clear_bar();
  std::fputs((line + "\n").c_str(), out_);
  std::fflush(out_);
}

void Progress::finish() {
  if (finished_) return;
  finished_ = true;
  if (!enabled_) return;
  clear_bar();
  std::fputs((line() + "\n").c_str(), out_);
  std::fflush(out_);
}

}  // namespace cantilever
