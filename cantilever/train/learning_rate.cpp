#include "cantilever/train/learning_rate.h"

#include <map>

#include "cantilever/base/error.h"

namespace cantilever {

Schedule make_schedule(const TrainOptions& options, int64_t total_steps) {
  ScheduleOptions schedule;
  schedule.type = options.lr_scheduler_type;
  schedule.learning_rate = options.learning_rate;
  schedule.total_steps = total_steps;
  schedule.warmup_steps =
      resolve_warmup_steps(options.warmup_steps, options.warmup_ratio, total_steps);
  const std::map<std::string, double*> numbers = {{"num_cycles", &schedule.num_cycles},
                                                  {"power", &schedule.power},
                                                  {"lr_end", &schedule.lr_end},
                                                  {"min_lr", &schedule.min_lr},
                                                  {"min_lr_rate", &schedule.min_lr_rate}};
  const Json& given = options.lr_scheduler_kwargs;
  CANTILEVER_CHECK(given.is_object() || given.is_null(), "--lr_scheduler_kwargs is ",
                   quoted(given.dump()), ", but it must be a JSON object");
  for (const auto& [key, value] : given.items()) {
    const auto found = numbers.find(key);
    CANTILEVER_CHECK(found != numbers.end() || key == "timescale", "--lr_scheduler_kwargs has ",
                     quoted(key),
                     "; known are num_cycles, power, lr_end, min_lr, min_lr_rate, timescale");
    CANTILEVER_CHECK(value.is_number(), "--lr_scheduler_kwargs: ", quoted(key), " is ",
                     quoted(value.dump()), ", but it must be a number");
    if (found != numbers.end()) {
      *found->second = value.get<double>();
    } else {
      schedule.timescale = value.get<int64_t>();
    }
  }
  return Schedule(schedule);
}

}  // namespace cantilever
