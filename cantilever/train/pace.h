#pragma once

#include <cstdint>
#include <string>

#include "cantilever/data/loader/batch_loader.h"
#include "cantilever/io/json.h"
#include "cantilever/train/meters.h"

namespace cantilever {

// How fast a call trains: rates since the last log line, and those of the whole call.
class Pace {
 public:
  // warmup_steps: --throughput_warmup_steps; adjust: --adjust_throughput.
  Pace(int64_t warmup_steps, bool adjust) : warmup_steps_(warmup_steps), adjust_(adjust) {}

  void start();
  // Before the step that comes after `done` steps of this call.
  void before_step(int64_t done);
  void after_step(int64_t samples, double seconds);
  // Logging, evaluation and saving took `seconds`.
  void set_aside(double seconds) { aside_ += seconds; }

  // samples_per_second, data_wait_share and what the loader did since the last log; starts anew.
  void take_window(const LoaderStatistics& loader, Json& extra);
  // "12.3 samples/s, data 4 %" since the last log.
  std::string tail(const LoaderStatistics& loader) const;

  double step_seconds() const { return step_seconds_; }

  // train_runtime and rates, of `steps` steps with `samples` samples, `step_samples` in a full one.
  Json final_metrics(double steps, double samples, double step_samples) const;

 private:
  int64_t warmup_steps_;
  bool adjust_;
  StopWatch all_;
  StopWatch counted_;        // since the steps that count began
  double aside_ = 0;         // seconds without training since `counted_`
  bool warm_ = false;        // steps of warm-up are over
  double step_seconds_ = 0;  // of all steps
  StopWatch since_log_;
  int64_t samples_since_log_ = 0;
  LoaderStatistics at_log_;
};

}  // namespace cantilever
