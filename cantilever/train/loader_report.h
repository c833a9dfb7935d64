#pragma once

#include <string>

#include "cantilever/data/loader/batch_loader.h"
#include "cantilever/io/json.h"

namespace cantilever {

// What happened between two looks at a loader; `threads` is that of `now`.
LoaderStatistics difference(const LoaderStatistics& now, const LoaderStatistics& before);

// Pictures a second that the loader makes while it works: pictures * threads / seconds of all
// stages. What it could deliver if nobody else used the CPUs and it never had to wait. 0 when it
// has not worked.
double loader_images_per_second(const LoaderStatistics& window);

// loader_images_per_second, loader_STAGE_seconds, and where there are any: loader_threads,
// loader_cache_hits, loader_device_images, _unsupported and _failed. For LogEntry::extra.
void add_loader_values(const LoaderStatistics& window, Json& extra);

// How the loader was set, for what can be turned.
struct LoaderSetting {
  int workers = 0;         // --dataloader_num_workers
  bool cached = false;     // --decoded_cache is at work
  bool may_cache = false;  // it would pay: no augmentation, more than one epoch
  bool device = false;     // --mediapipe_dataloader
};

// One sentence for the end of a run: the share of `step_seconds` that the trainer waited, the
// slowest stage, and what to turn.
std::string loader_verdict(const LoaderStatistics& all, double step_seconds,
                           const LoaderSetting& setting);

}  // namespace cantilever
