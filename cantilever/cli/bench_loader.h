#pragma once

#include <string>
#include <vector>

#include "cantilever/cli/flag_parser.h"

namespace cantilever {

// `cantilever bench loader`: as a contestant of an outside race when RACE_LIST or RACE_PARQUET is
// in the environment (one JSON line), else by hand over a data set. Returns the exit status.
int bench_loader(const FlagValues& values);

// Whether an outside race (its README: "Joining with an outside program") started this process, and
// its part in it: pictures of RACE_LIST (or RACE_PARQUET) into RACE_PIXELS and one JSON line.
bool is_contestant();
int race_as_contestant(const FlagValues& values);

// "0,1,2,auto" -> {0, 1, 2, kAutoWorkers}. Throws UsageError.
std::vector<int> parse_thread_list(const std::string& text);

// Middle value; the mean of two for an even count. 0 for none.
double median(std::vector<double> values);

}  // namespace cantilever
