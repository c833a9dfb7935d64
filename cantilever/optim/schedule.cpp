#include "cantilever/optim/schedule.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "cantilever/base/error.h"

namespace cantilever {
namespace {

using Factor = double (*)(const ScheduleOptions&, int64_t step);

double as_double(int64_t value) {
  return static_cast<double>(value);
}

// Linear from 0, shared by most types.
double warmup(const ScheduleOptions& o, int64_t step) {
  return as_double(step) / as_double(std::max<int64_t>(1, o.warmup_steps));
}

double progress(const ScheduleOptions& o, int64_t step) {
  return as_double(step - o.warmup_steps) /
         as_double(std::max<int64_t>(1, o.total_steps - o.warmup_steps));
}

double cycles(const ScheduleOptions& o, double fallback) {
  return o.num_cycles < 0 ? fallback : o.num_cycles;
}

// cos(pi * cycles * 2 * progress), multiplied from left to right as the library does.
double cosine_of(double num_cycles, double progress) {
  return std::cos(std::numbers::pi * num_cycles * 2.0 * progress);
}

double constant(const ScheduleOptions&, int64_t) {
  return 1;
}

double constant_with_warmup(const ScheduleOptions& o, int64_t step) {
  return step < o.warmup_steps ? warmup(o, step) : 1;
}

double linear(const ScheduleOptions& o, int64_t step) {
  if (step < o.warmup_steps) return warmup(o, step);
  return std::max(0.0, as_double(o.total_steps - step) /
                           as_double(std::max<int64_t>(1, o.total_steps - o.warmup_steps)));
}

double cosine(const ScheduleOptions& o, int64_t step) {
  if (step < o.warmup_steps) return warmup(o, step);
  return std::max(0.0, 0.5 * (1.0 + cosine_of(cycles(o, 0.5), progress(o, step))));
}

double cosine_with_restarts(const ScheduleOptions& o, int64_t step) {
  if (step < o.warmup_steps) return warmup(o, step);
  const double done = progress(o, step);
  if (done >= 1) return 0;
  const double phase = std::fmod(cycles(o, 1) * done, 1.0);
  return std::max(0.0, 0.5 * (1.0 + std::cos(std::numbers::pi * phase)));
}

double polynomial(const ScheduleOptions& o, int64_t step) {
  if (step < o.warmup_steps) return warmup(o, step);
  if (step > o.total_steps) return o.lr_end / o.learning_rate;
  const double range = o.learning_rate - o.lr_end;
  const int64_t decay_steps = o.total_steps - o.warmup_steps;
  // The library divides by zero when there is no step to decay in; the rate is then the last one.
  if (decay_steps == 0) return o.lr_end / o.learning_rate;
  const double remaining = 1 - as_double(step - o.warmup_steps) / as_double(decay_steps);
  return (range * std::pow(remaining, o.power) + o.lr_end) / o.learning_rate;
}

double inverse_sqrt(const ScheduleOptions& o, int64_t step) {
  if (step < o.warmup_steps) return warmup(o, step);
  const int64_t fallback = o.warmup_steps > 0 ? o.warmup_steps : 10000;
  const int64_t timescale = o.timescale > 0 ? o.timescale : fallback;
  const int64_t shift = timescale - o.warmup_steps;
  return 1.0 / std::sqrt(as_double(step + shift) / as_double(timescale));
}

double lowest_rate(const ScheduleOptions& o) {
  return o.min_lr >= 0 ? o.min_lr / o.learning_rate : o.min_lr_rate;
}

double above(double factor, double lowest) {
  return factor * (1 - lowest) + lowest;
}

double cosine_with_min_lr(const ScheduleOptions& o, int64_t step) {
  if (step < o.warmup_steps) return warmup(o, step);
  const double factor = 0.5 * (1.0 + cosine_of(cycles(o, 0.5), progress(o, step)));
  return std::max(0.0, above(factor, lowest_rate(o)));
}

double cosine_warmup_with_min_lr(const ScheduleOptions& o, int64_t step) {
  if (step < o.warmup_steps) {
    if (o.warmup_lr_rate < 0) {
      return (as_double(step) + 1.0) / std::max(1.0, as_double(o.warmup_steps));
    }
    return o.warmup_lr_rate + (1.0 - o.warmup_lr_rate) * as_double(step) /
                                  std::max(1.0, as_double(o.warmup_steps - 1));
  }
  const double done = (as_double(step - o.warmup_steps) + 1.0) /
                      std::max(1.0, as_double(o.total_steps - o.warmup_steps));
  const double factor = 0.5 * (1.0 + cosine_of(cycles(o, 0.5), done));
  return std::max(0.0, above(factor, lowest_rate(o)));
}

double warmup_stable_decay(const ScheduleOptions& o, int64_t step) {
  const int64_t stable = o.num_stable_steps >= 0
                             ? o.num_stable_steps
                             : o.total_steps - o.warmup_steps - o.num_decay_steps;
  if (step < o.warmup_steps) {
    const double done = warmup(o, step);
    double factor = done;
    if (o.warmup_type == "cosine") factor = 0.5 * (1.0 - std::cos(std::numbers::pi * done));
    if (o.warmup_type == "1-sqrt") factor = 1.0 - std::sqrt(1.0 - done);
    return std::max(0.0, above(factor, o.min_lr_ratio));
  }
  if (step < o.warmup_steps + stable) return 1;
  if (step >= o.warmup_steps + stable + o.num_decay_steps) return o.min_lr_ratio;
  const double done = as_double(step - o.warmup_steps - stable) /
                      as_double(std::max<int64_t>(1, o.num_decay_steps));
  double factor = 0.5 * (1.0 + cosine_of(cycles(o, 0.5), done));
  if (o.decay_type == "linear") factor = 1.0 - done;
  if (o.decay_type == "1-sqrt") factor = 1.0 - std::sqrt(done);
  return std::max(0.0, above(factor, o.min_lr_ratio));
}

struct Row {
  const char* type;
  Factor factor;
};

constexpr Row kRows[] = {
    {"linear", linear},
    {"cosine", cosine},
    {"cosine_with_restarts", cosine_with_restarts},
    {"polynomial", polynomial},
    {"constant", constant},
    {"constant_with_warmup", constant_with_warmup},
    {"inverse_sqrt", inverse_sqrt},
    {"cosine_with_min_lr", cosine_with_min_lr},
    {"cosine_warmup_with_min_lr", cosine_warmup_with_min_lr},
    {"warmup_stable_decay", warmup_stable_decay},
};

const Row* find(const std::string& type) {
  for (const Row& row : kRows) {
    if (type == row.type) return &row;
  }
  return nullptr;
}

bool is_shape(const std::string& name) {
  return name == "linear" || name == "cosine" || name == "1-sqrt";
}

}  // namespace

Schedule::Schedule(const ScheduleOptions& options) : options_(options) {
  const ScheduleOptions& o = options_;
  if (find(o.type) == nullptr) {
    std::string known;
    for (const std::string& type : known_types()) known += (known.empty() ? "" : ", ") + type;
    throw_error(concat("--lr_scheduler_type is ", quoted(o.type), "; known: ", known,
                       o.type == "reduce_lr_on_plateau" || o.type == "greedy"
                           ? " (this one follows a metric and is not supported)"
                           : ""));
  }
  CANTILEVER_CHECK(o.learning_rate >= 0 && std::isfinite(o.learning_rate), "--learning_rate is ",
                   o.learning_rate, "; it must be a number of at least 0");
  CANTILEVER_CHECK(o.warmup_steps >= 0, "--warmup_steps is ", o.warmup_steps,
                   "; it must be at least 0");
  if (o.type == "polynomial") {
    CANTILEVER_CHECK(o.learning_rate > o.lr_end, "--lr_scheduler_kwargs: lr_end is ", o.lr_end,
                     "; it must be smaller than the learning rate ", o.learning_rate);
  }
  if (o.type == "cosine_with_min_lr" || o.type == "cosine_warmup_with_min_lr") {
    CANTILEVER_CHECK((o.min_lr >= 0) != (o.min_lr_rate >= 0), "--lr_scheduler_type ", o.type,
                     " needs exactly one of min_lr and min_lr_rate in --lr_scheduler_kwargs");
  }
  if (o.type == "warmup_stable_decay") {
    CANTILEVER_CHECK(o.num_decay_steps >= 0, "--lr_scheduler_type ", o.type,
                     " needs num_decay_steps in --lr_scheduler_kwargs");
    CANTILEVER_CHECK(is_shape(o.warmup_type), "--lr_scheduler_kwargs: warmup_type is ",
                     quoted(o.warmup_type), "; known: linear, cosine, 1-sqrt");
    CANTILEVER_CHECK(is_shape(o.decay_type), "--lr_scheduler_kwargs: decay_type is ",
                     quoted(o.decay_type), "; known: linear, cosine, 1-sqrt");
  }
}

double Schedule::factor(int64_t step) const {
  return find(options_.type)->factor(options_, step);
}

double Schedule::learning_rate(int64_t steps_done) const {
  return options_.learning_rate * factor(steps_done);
}

const std::vector<std::string>& Schedule::known_types() {
  static const std::vector<std::string> kTypes = [] {
    std::vector<std::string> types;
    for (const Row& row : kRows) types.emplace_back(row.type);
    return types;
  }();
  return kTypes;
}

int64_t resolve_warmup_steps(double warmup_steps, double warmup_ratio, int64_t total_steps) {
  CANTILEVER_CHECK(warmup_steps >= 0 && std::isfinite(warmup_steps), "--warmup_steps is ",
                   warmup_steps, "; it must be at least 0");
  CANTILEVER_CHECK(warmup_ratio >= 0 && warmup_ratio <= 1, "--warmup_ratio is ", warmup_ratio,
                   "; it must lie in [0, 1]");
  if (warmup_steps >= 1) return static_cast<int64_t>(warmup_steps);
  const double ratio = warmup_steps > 0 ? warmup_steps : warmup_ratio;
  return static_cast<int64_t>(std::ceil(as_double(total_steps) * ratio));
}

}  // namespace cantilever
