#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <vector>

#include "cantilever/data/loader/batch_loader.h"

namespace cantilever {

// Pictures held in memory as rows without captions. Row r is picture r modulo their number, so that
// a pass may be longer than the list.
std::shared_ptr<ExampleSource> pictures_in_memory(std::vector<std::vector<std::byte>> encoded,
                                                  int64_t rows);

// The pictures of a list file, one path a line. Throws Error: a file that cannot be read, no lines.
std::vector<std::vector<std::byte>> read_picture_list(const std::filesystem::path& list);
// All pictures of a source, copied into memory.
std::vector<std::vector<std::byte>> read_pictures(const ExampleSource& source);

struct RaceOptions {
  TransformOptions transform;
  int64_t batch_size = 32;
  // 1: the calling thread alone, so that the work stands on one CPU. 2 and more: so many loader
  // threads, while the calling thread sleeps.
  int threads = 1;
  int64_t images = 0;  // of the timed pass; 0: every picture once
  // With a cache the timed pass is a second epoch: the first one, not timed, fills it.
  DecodedCacheOptions cache;
};

struct RaceResult {
  int64_t images = 0;
  double seconds = 0;      // from an empty ring to the last batch delivered
  double cpu_seconds = 0;  // of all threads in that time
  LoaderStatistics statistics;
};

// One timed pass over pictures in memory, every one decoded again (unless there is a cache) and
// written into its batch. A
// batch or two before the clock starts make threads and memory warm; what they made ahead is given
// up.
RaceResult race_loader(const std::vector<std::vector<std::byte>>& encoded,
                       const RaceOptions& options);

// Every picture once as the loader makes it, raw little-endian float32 [n, 3, S, S].
void dump_pixels(const std::vector<std::vector<std::byte>>& encoded, const RaceOptions& options,
                 const std::filesystem::path& path);

}  // namespace cantilever
