#include "cantilever/train/meters.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>

namespace cantilever {

double round_decimals(double value, int digits) {
  if (!std::isfinite(value)) return value;
  char text[352];  // the longest finite double in %.4f has 309 digits before the point
  std::snprintf(text, sizeof text, "%.*f", digits, value);
  return std::strtod(text, nullptr);
}

Json speed_metrics(const std::string& split, double seconds, double samples, double steps) {
  Json metrics;
  metrics[split + "_runtime"] = round_decimals(seconds, 4);
  if (seconds <= 0) return metrics;
  metrics[split + "_samples_per_second"] = round_decimals(samples / seconds, 3);
  metrics[split + "_steps_per_second"] = round_decimals(steps / seconds, 3);
  return metrics;
}

Json train_speed_metrics(const RunTimes& times) {
  Json metrics = speed_metrics("train", times.seconds, times.samples, times.steps);
  if (times.warmup_steps == 0 && times.aside_seconds == 0) return metrics;
  const double counted = std::max(times.counted_seconds - times.aside_seconds, 1e-9);
  const Json rates = speed_metrics("train", counted, times.samples - times.warmup_samples,
                                   times.steps - times.warmup_steps);
  for (const char* key : {"train_samples_per_second", "train_steps_per_second"}) {
    metrics[key] = rates[key];
  }
  return metrics;
}

void LossMeter::start(float window, int64_t window_steps) {
  window_ = window;
  window_steps_ = window_steps;
  total_ = -static_cast<double>(window);
}

void LossMeter::add(float micro_batch_loss, bool filter) {
  if (filter && !std::isfinite(micro_batch_loss)) {
    window_ += window_ / static_cast<float>(1 + window_steps_);
  } else {
    window_ += micro_batch_loss;
  }
}

double LossMeter::take_window() {
  const double sum = static_cast<double>(window_);
  const double mean = sum / static_cast<double>(window_steps_);
  total_ += sum;
  window_ = 0;
  window_steps_ = 0;
  return mean;
}

}  // namespace cantilever
