#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "cantilever/base/file.h"

namespace arrow {
class Buffer;
}
namespace parquet {
class ColumnDescriptor;
}

namespace cantilever {

// A decoded page: where the value of each entry lies. Of an uncompressed plain page the values lie
// in the mapped file itself.
class ParquetPage {
 public:
  // The value of an entry; nullopt for null. Valid while the page lives.
  std::optional<std::span<const std::byte>> value(int64_t entry) const;

  static constexpr uint32_t kNull = UINT32_MAX;

  std::shared_ptr<const MappedFile> mapped;       // keeps the values, or
  std::shared_ptr<arrow::Buffer> buffer;          // the page as decompressed does, or
  std::vector<std::byte> decoded;                 // what it was decoded to does, or
  std::shared_ptr<const ParquetPage> dictionary;  // the dictionary page does
  std::span<const std::byte> values;              //
  int32_t width = -1;                             // of each value; -1: a length stands before each
  std::vector<uint32_t> offsets;                  // of each entry in `values`
  std::vector<uint32_t> row_starts;               // lists: first entry of each row, and the end
  int64_t bytes = 0;                              // of memory, for the cache
};

// A page as it lies in the file, from its header on, and what its column says about it.
struct ParquetPageBytes {
  std::shared_ptr<const MappedFile> mapped;
  std::span<const std::byte> bytes;
  const parquet::ColumnDescriptor* column = nullptr;
  int16_t codec = 0;                  // parquet::Compression::type
  bool v2_always_compressed = false;  // an old bug of a writer: the flag of V2 pages lies
  int64_t most_entries = 0;  // a data page that claims more is refused before it is decoded
};

// What a data page has of rows.
struct ParquetPageRows {
  int32_t rows = 0;        // that start in it
  bool continues = false;  // its first entries belong to the last row of the page before
};

// All of it throws whatever Arrow throws, or Error without a place: the caller knows where the page
// stands. Checksums are checked where a page has one.
//
// `dictionary` is called when the page is coded with one.
using ParquetDictionary = std::function<std::shared_ptr<const ParquetPage>()>;
std::shared_ptr<ParquetPage> decode_data_page(const ParquetPageBytes& page,
                                              const ParquetDictionary& dictionary);
std::shared_ptr<ParquetPage> decode_dictionary_page(const ParquetPageBytes& page);
ParquetPageRows count_page_rows(const ParquetPageBytes& page);

}  // namespace cantilever
