#pragma once

#include "cantilever/base/cpus.h"
#include "cantilever/cli/flag_parser.h"

namespace cantilever {

// --threads, else OMP_NUM_THREADS, else allowed_cpus().
int thread_count(const FlagValues& values);

// Sets torch's number of threads to it, the only place that does; returns it.
int use_threads(const FlagValues& values);

}  // namespace cantilever
