#include "cantilever/train/learning_rate.h"

#include <cmath>
#include <map>
#include <variant>

#include "cantilever/base/error.h"

namespace cantilever {
namespace {

using Field = std::variant<double ScheduleOptions::*, int64_t ScheduleOptions::*,
                           std::string ScheduleOptions::*>;
using Fields = std::map<std::string, Field>;
using Options = ScheduleOptions;

constexpr double kLargestCount = 9007199254740992;  // whole numbers up to it are exact

// The keyword arguments of the function behind each type (transformers.optimization, 5.24).
const Fields& fields_of(const std::string& type) {
  static const Fields kNone;
  static const Fields kCycles = {{"num_cycles", &Options::num_cycles}};
  static const Fields kLowest = {{"num_cycles", &Options::num_cycles},
                                 {"min_lr", &Options::min_lr},
                                 {"min_lr_rate", &Options::min_lr_rate}};
  static const std::map<std::string, Fields> kFields = {
      {"cosine", kCycles},
      {"cosine_with_restarts", kCycles},
      {"polynomial", {{"power", &Options::power}, {"lr_end", &Options::lr_end}}},
      {"inverse_sqrt", {{"timescale", &Options::timescale}}},
      {"cosine_with_min_lr", kLowest},
      {"cosine_warmup_with_min_lr",
       {{"num_cycles", &Options::num_cycles},
        {"min_lr", &Options::min_lr},
        {"min_lr_rate", &Options::min_lr_rate},
        {"warmup_lr_rate", &Options::warmup_lr_rate}}},
      {"warmup_stable_decay",
       {{"num_decay_steps", &Options::num_decay_steps},
        {"num_stable_steps", &Options::num_stable_steps},
        {"warmup_type", &Options::warmup_type},
        {"decay_type", &Options::decay_type},
        {"min_lr_ratio", &Options::min_lr_ratio},
        {"num_cycles", &Options::num_cycles}}}};
  const auto found = kFields.find(type);
  return found == kFields.end() ? kNone : found->second;
}

std::string names_of(const Fields& fields) {
  std::string names;
  for (const auto& [name, field] : fields) names += (names.empty() ? "" : ", ") + name;
  return names.empty() ? "it takes none" : "it takes " + names;
}

[[noreturn]] void wrong_value(const std::string& key, const Json& value, const char* expected) {
  throw_error(concat("--lr_scheduler_kwargs: ", quoted(key), " is ", quoted(value.dump()),
                     ", but it must be ", expected));
}

struct Setter {
  ScheduleOptions& schedule;
  const std::string& key;
  const Json& value;

  void operator()(double ScheduleOptions::* field) const {
    const double number = value.is_number() ? value.get<double>() : -1;
    // Below 0 nothing has a meaning, and ScheduleOptions takes it for "not given".
    if (!std::isfinite(number) || number < 0) wrong_value(key, value, "a number of at least 0");
    schedule.*field = number;
  }
  void operator()(int64_t ScheduleOptions::* field) const {
    const double number = value.is_number() ? value.get<double>() : -1;
    const double smallest = key == "timescale" ? 1 : 0;
    if (!(number >= smallest && number <= kLargestCount) || number != std::floor(number)) {
      wrong_value(
          key, value,
          key == "timescale" ? "a whole number from 1 to 2^53" : "a whole number from 0 to 2^53");
    }
    schedule.*field = static_cast<int64_t>(number);
  }
  void operator()(std::string ScheduleOptions::* field) const {
    if (!value.is_string()) wrong_value(key, value, "a text");
    schedule.*field = value.get<std::string>();
  }
};

}  // namespace

Schedule make_schedule(const TrainOptions& options, int64_t total_steps) {
  ScheduleOptions schedule;
  schedule.type = options.lr_scheduler_type;
  schedule.learning_rate = options.learning_rate;
  schedule.total_steps = total_steps;
  CANTILEVER_CHECK(!(options.warmup_steps > kLargestCount), "--warmup_steps is ",
                   options.warmup_steps, ", which is too many steps");
  schedule.warmup_steps =
      resolve_warmup_steps(options.warmup_steps, options.warmup_ratio, total_steps);
  const Json& given = options.lr_scheduler_kwargs;
  CANTILEVER_CHECK(given.is_object() || given.is_null(), "--lr_scheduler_kwargs is ",
                   quoted(given.dump()), ", but it must be a JSON object");
  const Fields& fields = fields_of(schedule.type);
  for (const auto& [key, value] : given.items()) {
    const auto found = fields.find(key);
    CANTILEVER_CHECK(found != fields.end(), "--lr_scheduler_kwargs has ", quoted(key),
                     ", which --lr_scheduler_type ", quoted(schedule.type), " does not know; ",
                     names_of(fields));
    if (value.is_null()) continue;  // None: the default
    std::visit(Setter{schedule, key, value}, found->second);
  }
  CANTILEVER_CHECK(schedule.min_lr < 0 || schedule.learning_rate > 0,
                   "--lr_scheduler_kwargs: min_lr is a part of --learning_rate, which is 0");
  return Schedule(schedule);
}

}  // namespace cantilever
