#pragma once

#include <filesystem>
#include <memory>

#include "cantilever/data/source/columns.h"
#include "cantilever/data/source/example_source.h"

namespace cantilever {

// Decoded pages, shared by the shards of a set.
class ParquetCache;
std::shared_ptr<ParquetCache> make_parquet_cache();

// `file_number` tells the shards of one cache apart. Throws Error as open_source says.
std::shared_ptr<ExampleSource> open_parquet(const std::filesystem::path& path,
                                            const TableOptions& options,
                                            std::shared_ptr<ParquetCache> cache,
                                            int64_t file_number);

}  // namespace cantilever
