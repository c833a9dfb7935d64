#include "cantilever/train/pace.h"

#include <algorithm>
#include <cstdio>

#include "cantilever/train/loader_report.h"

namespace cantilever {

void Pace::start() {
  all_ = counted_ = since_log_ = StopWatch();
  aside_ = step_seconds_ = 0;
  warm_ = false;
}

void Pace::before_step(int64_t done) {
  if (warm_ || warmup_steps_ <= 0 || done != warmup_steps_) return;
  warm_ = true;
  counted_ = StopWatch();
  aside_ = 0;
}

void Pace::after_step(int64_t samples, double seconds) {
  samples_since_log_ += samples;
  step_seconds_ += seconds;
}

void Pace::take_window(const LoaderStatistics& loader, Json& extra) {
  const double seconds = since_log_.seconds();
  if (seconds > 0 && samples_since_log_ > 0) {
    const LoaderStatistics window = difference(loader, at_log_);
    extra["samples_per_second"] =
        round_decimals(static_cast<double>(samples_since_log_) / seconds, 3);
    extra["data_wait_share"] = round_decimals(std::min(1.0, window.wait_seconds / seconds), 4);
    add_loader_values(window, extra);
  }
  since_log_ = StopWatch();
  at_log_ = loader;
  samples_since_log_ = 0;
}

std::string Pace::tail(const LoaderStatistics& loader) const {
  const double seconds = std::max(since_log_.seconds(), 1e-9);
  char text[80];
  std::snprintf(text, sizeof text, "%.1f samples/s, data %.0f %%",
                static_cast<double>(samples_since_log_) / seconds,
                100 * std::min(1.0, (loader.wait_seconds - at_log_.wait_seconds) / seconds));
  return text;
}

Json Pace::final_metrics(double steps, double samples, double step_samples) const {
  RunTimes times;
  times.seconds = times.counted_seconds = all_.seconds();
  times.steps = steps;
  times.samples = samples;
  if (warm_) {
    times.warmup_steps = static_cast<double>(warmup_steps_);
    times.warmup_samples = times.warmup_steps * step_samples;
    times.counted_seconds = counted_.seconds();
  }
  if (adjust_) times.aside_seconds = aside_;
  return train_speed_metrics(times);
}

}  // namespace cantilever
