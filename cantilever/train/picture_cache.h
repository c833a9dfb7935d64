#pragma once

#include <string>

#include "cantilever/data/loader/batch_loader.h"
#include "cantilever/train/options.h"

namespace cantilever {

// How one pass over a split uses the cache of decoded pictures.
struct CacheDecision {
  DecodedCacheOptions options;
  std::string reason;      // for the log, with sizes
  bool rounds = false;     // kept pixels may differ from fresh ones
  std::string pixel_type;  // what a continuation must keep to: "exact", or the rounding type
};

// What a split is read for.
struct SplitUse {
  std::string name;  // "train"
  int64_t rows = 0;
  int side = 0;           // S
  bool training = false;  // a cache in memory serves training only: evaluation makes its own loader
  double passes = 1;      // how often the split will be read
};

// --decoded_cache and what belongs to it, decided. `free_bytes`: what a cache may take when no
// limit is given (default_cache_limit). auto is memory when the split is read more than once and
// all of it fits, else off; the type of auto is one that holds the pixels exactly.
CacheDecision decide_cache(const TrainOptions& options, const SplitUse& use, int64_t free_bytes);
// The same with the machine asked for what is free.
CacheDecision decide_cache(const TrainOptions& options, const SplitUse& use);

}  // namespace cantilever
