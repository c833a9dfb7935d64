#pragma once

#include <cstdint>
#include <string>

#include "cantilever/cli/flag_parser.h"
#include "cantilever/data/loader/batch_loader.h"
#include "cantilever/data/source/open_source.h"
#include "cantilever/train/options.h"

namespace cantilever {

// Flags into the option structs of the rooms: the only place that knows both. Throws UsageError for
// values that do not go together.
TrainOptions to_train_options(const FlagValues& values);

// For opening model and one split with the flags of `search`; split: "train", "validation", "test".
TrainOptions to_search_options(const FlagValues& values, const std::string& split);

// --dataloader_num_workers; kAutoWorkers for auto.
int worker_count(const FlagValues& values);

// cache_flags() into the options of a cache.
void set_cache_options(const FlagValues& values, TrainOptions& options);

// --exif_orientation as the loader takes it.
ExifOrientation exif_orientation(const FlagValues& values);

// From data_flags(); `splits_seed` is --seed where the command has it.
SourceOptions to_source_options(const FlagValues& values, uint64_t splits_seed = 42);

}  // namespace cantilever
