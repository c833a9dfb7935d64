#pragma once

#include <cstdint>

#include "cantilever/optim/schedule.h"
#include "cantilever/train/options.h"

namespace cantilever {

// The schedule of a run from --lr_scheduler_type, --lr_scheduler_kwargs, --warmup_*. Throws Error
// for an unknown type, for a keyword argument that the type does not have and for values out of
// range.
Schedule make_schedule(const TrainOptions& options, int64_t total_steps);

}  // namespace cantilever
