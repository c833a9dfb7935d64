#pragma once

#include <cstdint>
#include <filesystem>

#include "cantilever/data/source/columns.h"

namespace cantilever {

// A number that is another when the table (path, size, time of change) is, or the options that
// choose its pictures and captions are: columns, image root, what is refused.
uint64_t table_fingerprint(const std::filesystem::path& table, const TableOptions& options);

}  // namespace cantilever
