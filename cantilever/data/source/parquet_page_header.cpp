#include "cantilever/data/source/parquet_page_header.h"

namespace cantilever {
namespace {

// Types of Thrift's compact protocol.
enum Wire : int {
  kTrue = 1,
  kFalse = 2,
  kByte = 3,
  kI16 = 4,
  kI32 = 5,
  kI64 = 6,
  kDouble = 7,
  kBinary = 8,
  kList = 9,
  kSet = 10,
  kMap = 11,
  kStruct = 12,
  kUuid = 13
};

constexpr int kDeepest = 16;  // nesting of a page header is 3

class CompactReader {
 public:
  explicit CompactReader(std::span<const std::byte> bytes) : bytes_(bytes) {}

  bool good() const { return good_; }
  int64_t position() const { return static_cast<int64_t>(at_); }

  // The next field of a struct; false at its end.
  bool next_field(int& id, int& wire) {
    const int head = byte();
    if (!good_ || head == 0) return false;
    wire = head & 0x0f;
    const int delta = head >> 4;
    id = delta != 0 ? id + delta : static_cast<int16_t>(zigzag());
    return good_;
  }

  int32_t i32(int wire) {
    if (wire != kI32 && wire != kI16) {
      good_ = false;
      return -1;
    }
    const int64_t value = zigzag();
    if (value < INT32_MIN || value > INT32_MAX) good_ = false;
    return static_cast<int32_t>(value);
  }

  void skip(int wire, int depth = 0) {
    if (depth > kDeepest) good_ = false;
    if (!good_) return;
    switch (wire) {
      case kTrue:
      case kFalse:
        return;
      case kByte:
        return advance(1);
      case kI16:
      case kI32:
      case kI64:
        varint();
        return;
      case kDouble:
        return advance(8);
      case kUuid:
        return advance(16);
      case kBinary:
        return advance(varint());
      case kList:
      case kSet:
        return skip_list(depth);
      case kMap:
        return skip_map(depth);
      case kStruct: {
        int id = 0;
        int field = 0;
        while (next_field(id, field)) skip(field, depth + 1);
        return;
      }
      default:
        good_ = false;
    }
  }

 private:
  int byte() {
    if (at_ >= bytes_.size()) {
      good_ = false;
      return 0;
    }
    return std::to_integer<int>(bytes_[at_++]);
  }

  uint64_t varint() {
    uint64_t value = 0;
    for (int shift = 0; shift < 64; shift += 7) {
      const int next = byte();
      value |= static_cast<uint64_t>(next & 0x7f) << shift;
      if (next < 0x80) return value;
    }
    good_ = false;
    return 0;
  }

  int64_t zigzag() {
    const uint64_t value = varint();
    return static_cast<int64_t>(value >> 1) ^ -static_cast<int64_t>(value & 1);
  }

  void advance(uint64_t count) {
    if (count > bytes_.size() - at_) {
      good_ = false;
    } else {
      at_ += count;
    }
  }

  // Elements of a list: booleans take a byte there.
  void skip_elements(uint64_t count, int wire, int depth) {
    if (count > bytes_.size()) good_ = false;
    for (uint64_t i = 0; i < count && good_; ++i) {
      if (wire == kTrue || wire == kFalse) {
        advance(1);
      } else {
        skip(wire, depth + 1);
      }
    }
  }

  void skip_list(int depth) {
    const int head = byte();
    const uint64_t count = (head >> 4) == 15 ? varint() : static_cast<uint64_t>(head >> 4);
    skip_elements(count, head & 0x0f, depth);
  }

  void skip_map(int depth) {
    const uint64_t count = varint();
    if (count == 0 || !good_) return;
    const int kinds = byte();
    if (count > bytes_.size()) good_ = false;
    for (uint64_t i = 0; i < count && good_; ++i) {
      skip_elements(1, kinds >> 4, depth);
      skip_elements(1, kinds & 0x0f, depth);
    }
  }

  std::span<const std::byte> bytes_;
  size_t at_ = 0;
  bool good_ = true;
};

// DataPageHeader and DictionaryPageHeader (1 num_values, 2 encoding), DataPageHeaderV2 (1
// num_values, 3 num_rows, 4 encoding).
void read_inner(CompactReader& reader, bool v2, ParquetPageHeader& header) {
  int id = 0;
  int wire = 0;
  while (reader.next_field(id, wire)) {
    if (id == 1) {
      header.values = reader.i32(wire);
    } else if (id == 3 && v2) {
      header.rows = reader.i32(wire);
    } else if (id == (v2 ? 4 : 2)) {
      header.encoding = reader.i32(wire);
    } else {
      reader.skip(wire);
    }
  }
}

}  // namespace

std::optional<ParquetPageHeader> parse_page_header(std::span<const std::byte> bytes) {
  CompactReader reader(bytes);
  ParquetPageHeader header;
  int id = 0;
  int wire = 0;
  while (reader.next_field(id, wire)) {
    if (id == 1) {
      header.type = reader.i32(wire);
    } else if (id == 2) {
      header.uncompressed_bytes = reader.i32(wire);
    } else if (id == 3) {
      header.compressed_bytes = reader.i32(wire);
    } else if ((id == 5 || id == 7 || id == 8) && wire == kStruct) {
      read_inner(reader, id == 8, header);
    } else {
      reader.skip(wire);
    }
  }
  header.header_bytes = reader.position();
  if (!reader.good() || header.type < 0 || header.uncompressed_bytes < 0 ||
      header.compressed_bytes < 0) {
    return std::nullopt;
  }
  return header;
}

}  // namespace cantilever
