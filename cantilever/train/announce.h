#pragma once

#include "cantilever/train/options.h"
#include "cantilever/train/picture_cache.h"
#include "cantilever/train/plan.h"

namespace cantilever {

// What is logged before the first step: size of the run, what was decided, what looks like a
// mistake. first_step: steps done before this call; trained: parameters.
void announce_training(const TrainOptions& options, const TrainingPlan& plan,
                       const CacheDecision& cache, int64_t first_step, int64_t trained);

}  // namespace cantilever
