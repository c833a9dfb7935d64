#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

namespace cantilever {

// What stands before the bytes of a page of a Parquet column chunk; the names and numbers are those
// of parquet.thrift in apache/parquet-format.
struct ParquetPageHeader {
  enum class Type : int32_t { kData = 0, kIndex = 1, kDictionary = 2, kDataV2 = 3 };
  int32_t type = -1;
  int32_t uncompressed_bytes = -1;
  int32_t compressed_bytes = -1;
  int32_t values = -1;    // entries of a data or dictionary page, nulls included
  int32_t rows = -1;      // V2 only
  int32_t encoding = -1;  // of the values: parquet::Encoding::type, 0 is plain
  int64_t header_bytes = 0;

  bool is(Type wanted) const { return type == static_cast<int32_t>(wanted); }
  bool is_data() const { return is(Type::kData) || is(Type::kDataV2); }
};

// The header at the start of `bytes`; nullopt when there is none (cut off, damaged, negative
// sizes). Thrift's compact protocol; fields that are not needed are passed over without reading
// them.
std::optional<ParquetPageHeader> parse_page_header(std::span<const std::byte> bytes);

}  // namespace cantilever
