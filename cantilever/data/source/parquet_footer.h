#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "cantilever/base/file.h"
#include "cantilever/data/source/arrow_columns.h"
#include "cantilever/data/source/parquet_pages.h"

namespace cantilever {

// What is kept of a Parquet footer: the chosen columns only. (Arrow's own form of a footer takes
// about a kilobyte a column chunk, which adds up over many shards.)
struct ParquetFooter {
  struct Leaf {
    int number = -1;  // of the leaf column; -1: there is none
    std::vector<ParquetChunk> chunks;
  };
  std::shared_ptr<const parquet::SchemaDescriptor> schema;
  std::vector<int64_t> group_ends;  // rows up to the end of each row group
  ArrowColumns columns;
  // Of the picture: bytes or path or, from a struct, both.
  Leaf bytes, path, caption;
};

// Throws Error that names the file: no Parquet, incomplete, encrypted, row counts that cannot be
// true, columns as choose_columns says.
ParquetFooter read_parquet_footer(const MappedFile& mapped, const std::string& file,
                                  TableOptions& options);

}  // namespace cantilever
