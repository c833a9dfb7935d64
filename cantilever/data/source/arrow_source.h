#pragma once

#include <filesystem>
#include <memory>

#include "cantilever/data/source/columns.h"
#include "cantilever/data/source/example_source.h"

namespace cantilever {

// Opened columns of record batches, shared by the shards of a set.
class ArrowCache;
std::shared_ptr<ArrowCache> make_arrow_cache();

// An Arrow IPC file in the stream or the file format. `file_number` tells the shards of one cache
// apart. Throws Error as open_source says.
std::shared_ptr<ExampleSource> open_arrow(const std::filesystem::path& path,
                                          const TableOptions& options,
                                          std::shared_ptr<ArrowCache> cache, int64_t file_number);

}  // namespace cantilever
