#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "cantilever/base/file.h"
#include "cantilever/data/source/block_cache.h"
#include "cantilever/data/source/parquet_decode.h"

namespace parquet {
class SchemaDescriptor;
}

namespace cantilever {

// Where the bytes of one column of one row group lie: what is kept of a footer, which can be large.
struct ParquetChunk {
  int64_t begin = 0;  // bytes of the file, the dictionary page included
  int64_t end = 0;
  int64_t values = 0;                 // entries, for a list more or fewer than rows
  int64_t rows = 0;                   // of the row group
  int64_t index_begin = 0;            // of the offset index; 0 bytes when there is none
  int32_t index_bytes = 0;            //
  int16_t codec = 0;                  // parquet::Compression::type
  bool v2_always_compressed = false;  // an old bug of a writer: the flag of V2 pages lies
};

// The data pages of a chunk.
struct ParquetPageTable {
  struct Entry {
    int64_t offset = 0;      // of the header, in the file
    int64_t first_row = 0;   // in the row group: the first that starts in this page
    int32_t bytes = 0;       // with the header
    int32_t rows = 0;        // that start in this page
    bool continues = false;  // its first entries belong to the last row of the page before
  };
  std::vector<Entry> pages;
  int64_t dictionary = -1;  // offset of the dictionary page; -1: none
  int64_t bytes = 0;        // of memory, for the cache
};

// What the shards of a set share. Pictures apart from texts, so that they do not push each other
// out.
class ParquetCache {
 public:
  BlockCache<ParquetPageTable> tables{int64_t{16} << 20};
  BlockCache<ParquetPage> dictionaries{int64_t{16} << 20};
  BlockCache<ParquetPage> pictures{int64_t{64} << 20};
  BlockCache<ParquetPage> texts{int64_t{48} << 20};
};

// One leaf column (of byte strings; plain, in structs, or the element of a list) with random access
// to its rows. Only the page that has the row is read; pages are found by the file's offset index,
// or by one pass over the page headers of the chunk. All of it may be called by several threads.
class ParquetColumn {
 public:
  struct Place {
    std::shared_ptr<const MappedFile> mapped;
    std::string file;         // for messages
    int64_t file_number = 0;  // in the cache
    std::shared_ptr<const parquet::SchemaDescriptor> schema;
    int leaf = 0;
  };
  ParquetColumn(Place place, std::vector<ParquetChunk> chunks, std::shared_ptr<ParquetCache> cache,
                bool pictures);

  struct Cell {
    std::optional<std::span<const std::byte>> value;  // nullopt: null
    std::shared_ptr<const ParquetPage> page;          // owner
    int64_t count = 1;  // entries of the row, 0 for an empty or missing list
  };

  // The value of a row of a row group; of a list its element `draw` modulo their count. Throws
  // Error that names file, row group, column and page when the page is damaged.
  Cell read(int64_t group, int64_t row, uint64_t draw) const;

  bool is_list() const { return repeated_; }

 private:
  std::shared_ptr<const ParquetPageTable> table(int64_t group) const;
  bool index_pages(const ParquetChunk& chunk, ParquetPageTable& table) const;
  void scan_pages(int64_t group, ParquetPageTable& table) const;
  std::shared_ptr<const ParquetPage> page(int64_t group, const ParquetPageTable& table,
                                          int64_t number) const;
  std::shared_ptr<const ParquetPage> dictionary(int64_t group, int64_t offset) const;
  ParquetPageBytes slice(const ParquetChunk& chunk, int64_t begin, int64_t end) const;
  std::string where(int64_t group, int64_t offset) const;
  Cell read_list(int64_t group, const ParquetPageTable& table, int64_t number, int64_t row,
                 uint64_t draw) const;

  Place place_;
  const parquet::ColumnDescriptor* descriptor_;
  std::vector<ParquetChunk> chunks_;
  std::shared_ptr<ParquetCache> cache_;
  BlockCache<ParquetPage>* pages_;
  bool repeated_ = false;
};

}  // namespace cantilever
