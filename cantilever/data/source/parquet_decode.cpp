#include "cantilever/data/source/parquet_decode.h"

#include <arrow/buffer.h>
#include <arrow/io/memory.h>
#include <arrow/memory_pool.h>
#include <parquet/column_page.h>
#include <parquet/column_reader.h>
#include <parquet/encoding.h>
#include <parquet/properties.h>
#include <parquet/schema.h>

#include <algorithm>
#include <cstring>
#include <limits>

#include "cantilever/base/error.h"

namespace cantilever {
namespace {

constexpr int32_t kMostEntries = int32_t{1} << 27;
// What a page of a delta encoding may become: prefixes make much out of few bytes.
constexpr size_t kMostDecoded = size_t{1} << 30;
constexpr size_t kHugePage = size_t{64} << 20U;
constexpr int kDecodeStep = 256;  // values at a time

// A page without compression, its levels decoded.
struct OpenPage {
  std::shared_ptr<parquet::Page> page;  // keeps `values` unless they lie in the mapped file
  parquet::Encoding::type encoding = parquet::Encoding::PLAIN;
  std::vector<int16_t> repetition, definition;  // empty: all are 0, or the highest
  std::span<const uint8_t> values;
  int32_t entries = 0;
};

std::shared_ptr<parquet::Page> read_page(const ParquetPageBytes& bytes) {
  const auto buffer =
      std::make_shared<arrow::Buffer>(reinterpret_cast<const uint8_t*>(bytes.bytes.data()),
                                      static_cast<int64_t>(bytes.bytes.size()));
  // Arrow's allocator keeps blocks for the next page, which is fast, but of huge ones it keeps
  // several; the system's gives them back at once.
  const bool huge = bytes.bytes.size() > kHugePage;
  parquet::ReaderProperties properties(huge ? arrow::system_memory_pool()
                                            : arrow::default_memory_pool());
  properties.set_page_checksum_verification(true);
  const auto reader = parquet::PageReader::Open(
      std::make_shared<arrow::io::BufferReader>(buffer), std::numeric_limits<int64_t>::max(),
      static_cast<parquet::Compression::type>(bytes.codec), properties, *bytes.column,
      bytes.v2_always_compressed);
  std::shared_ptr<parquet::Page> page = reader->NextPage();
  CANTILEVER_CHECK(page != nullptr, "the page is missing");
  return page;
}

void decode_levels(parquet::LevelDecoder& decoder, int32_t count, std::vector<int16_t>& levels) {
  levels.resize(static_cast<size_t>(count));
  const int decoded = decoder.Decode(count, levels.data());
  CANTILEVER_CHECK(decoded == count, "the page has ", decoded, " levels where it claims ", count,
                   " values");
}

// V1: repetition levels, definition levels (each after its length), values.
void open_v1(const parquet::DataPageV1& page, int16_t most_repetition, int16_t most_definition,
             OpenPage& open) {
  const uint8_t* at = page.data();
  int32_t left = page.size();
  const auto take = [&](parquet::Encoding::type encoding, int16_t most,
                        std::vector<int16_t>& levels) {
    if (most == 0) return;
    parquet::LevelDecoder decoder;
    const int used = decoder.SetData(encoding, most, page.num_values(), at, left);
    CANTILEVER_CHECK(used >= 0 && used <= left, "the levels are longer than the page");
    at += used;
    left -= used;
    decode_levels(decoder, page.num_values(), levels);
  };
  take(page.repetition_level_encoding(), most_repetition, open.repetition);
  take(page.definition_level_encoding(), most_definition, open.definition);
  open.values = {at, static_cast<size_t>(left)};
}

void open_v2(const parquet::DataPageV2& page, int16_t most_repetition, int16_t most_definition,
             OpenPage& open) {
  const int64_t repetition_bytes = page.repetition_levels_byte_length();
  const int64_t definition_bytes = page.definition_levels_byte_length();
  CANTILEVER_CHECK(repetition_bytes >= 0 && definition_bytes >= 0 &&
                       repetition_bytes + definition_bytes <= page.size(),
                   "the levels are longer than the page");
  const auto take = [&](int64_t bytes, int16_t most, const uint8_t* at,
                        std::vector<int16_t>& levels) {
    if (most == 0) return;
    parquet::LevelDecoder decoder;
    decoder.SetDataV2(static_cast<int32_t>(bytes), most, page.num_values(), at);
    decode_levels(decoder, page.num_values(), levels);
  };
  take(repetition_bytes, most_repetition, page.data(), open.repetition);
  take(definition_bytes, most_definition, page.data() + repetition_bytes, open.definition);
  const int64_t levels = repetition_bytes + definition_bytes;
  open.values = {page.data() + levels, static_cast<size_t>(page.size() - levels)};
}

OpenPage open_data_page(const ParquetPageBytes& bytes) {
  OpenPage open;
  open.page = read_page(bytes);
  const auto type = open.page->type();
  CANTILEVER_CHECK(type == parquet::PageType::DATA_PAGE || type == parquet::PageType::DATA_PAGE_V2,
                   "there is no data page");
  const auto& page = static_cast<const parquet::DataPage&>(*open.page);
  CANTILEVER_CHECK(page.num_values() >= 0 && page.num_values() <= kMostEntries &&
                       page.num_values() <= bytes.most_entries,
                   "the page claims ", page.num_values(), " values");
  open.encoding = page.encoding();
  open.entries = page.num_values();
  const int16_t repetition = bytes.column->max_repetition_level();
  const int16_t definition = bytes.column->max_definition_level();
  if (type == parquet::PageType::DATA_PAGE) {
    open_v1(static_cast<const parquet::DataPageV1&>(page), repetition, definition, open);
  } else {
    open_v2(static_cast<const parquet::DataPageV2&>(page), repetition, definition, open);
  }
  return open;
}

// The definition level from which a list has an entry at all: that of its repeated node.
int16_t entry_level(const parquet::ColumnDescriptor& column) {
  std::vector<const parquet::schema::Node*> nodes;
  for (const parquet::schema::Node* node = column.schema_node().get();
       node != nullptr && node->parent() != nullptr; node = node->parent()) {
    nodes.push_back(node);
  }
  int16_t level = 0;
  int16_t repeated = 0;
  for (auto node = nodes.rbegin(); node != nodes.rend(); ++node) {
    if (!(*node)->is_required()) ++level;
    if ((*node)->is_repeated()) repeated = level;
  }
  return repeated;
}

// Marks which entries have a value (offset 0) and which are null, and where rows start. Returns how
// many have one.
int32_t lay_out(const OpenPage& open, const parquet::ColumnDescriptor& column, ParquetPage& page) {
  const int16_t most = column.max_definition_level();
  const size_t entries = static_cast<size_t>(open.entries);
  int32_t present = 0;
  if (open.repetition.empty()) {
    page.offsets.resize(entries, 0);
    for (size_t i = 0; i < open.definition.size(); ++i) {
      if (open.definition[i] != most) page.offsets[i] = ParquetPage::kNull;
    }
    present = static_cast<int32_t>(
        open.entries - std::count(page.offsets.begin(), page.offsets.end(), ParquetPage::kNull));
    return present;
  }
  const int16_t has_entry = entry_level(column);
  page.offsets.reserve(entries);
  for (size_t i = 0; i < entries; ++i) {
    if (open.repetition[i] == 0) {
      page.row_starts.push_back(static_cast<uint32_t>(page.offsets.size()));
    }
    if (open.definition[i] < has_entry) continue;
    const bool null = open.definition[i] != most;
    page.offsets.push_back(null ? ParquetPage::kNull : 0);
    present += null ? 0 : 1;
  }
  page.row_starts.push_back(static_cast<uint32_t>(page.offsets.size()));
  return present;
}

// Calls `next()` for the offset of each entry that has a value.
template <class Next>
void fill_offsets(ParquetPage& page, const Next& next) {
  for (uint32_t& offset : page.offsets) {
    if (offset != ParquetPage::kNull) offset = next();
  }
}

// Plain: a length of 32 bits before each value, or values of one width.
class PlainCursor {
 public:
  PlainCursor(std::span<const uint8_t> values, int32_t width) : values_(values), width_(width) {}

  uint32_t next() {
    const size_t left = values_.size() - at_;
    size_t size = static_cast<size_t>(width_);
    if (width_ < 0) {
      CANTILEVER_CHECK(left >= 4, "the page ends before its last value");
      uint32_t length = 0;
      std::memcpy(&length, values_.data() + at_, 4);
      size = size_t{length} + 4;
    }
    CANTILEVER_CHECK(left >= size, "a value is longer than the rest of the page");
    const size_t start = at_;
    at_ += size;
    return static_cast<uint32_t>(start);
  }

 private:
  std::span<const uint8_t> values_;
  int32_t width_;
  size_t at_ = 0;
};

template <class DType>
void fill_coded(const OpenPage& open, const parquet::ColumnDescriptor& column, int32_t present,
                ParquetPage& page) {
  const auto decoder = parquet::MakeDictDecoder<DType>(&column);
  decoder->SetData(open.entries, open.values.data(), static_cast<int>(open.values.size()));
  std::vector<int32_t> codes(static_cast<size_t>(std::min(present, kDecodeStep)));
  const std::vector<uint32_t>& known = page.dictionary->offsets;
  size_t at = codes.size();
  int32_t left = present;
  fill_offsets(page, [&] {
    if (at == codes.size()) {
      codes.resize(static_cast<size_t>(std::min(left, kDecodeStep)));
      const int wanted = static_cast<int>(codes.size());
      const int got = decoder->DecodeIndices(wanted, codes.data());
      CANTILEVER_CHECK(got == wanted, "the page ends before its last value");
      left -= wanted;
      at = 0;
    }
    const int32_t code = codes[at++];
    CANTILEVER_CHECK(code >= 0 && static_cast<size_t>(code) < known.size(),
                     "a dictionary index is ", code, " where the dictionary has ", known.size(),
                     " values");
    return known[static_cast<size_t>(code)];
  });
}

std::span<const uint8_t> view_of(const parquet::ByteArray& value, int32_t) {
  return {value.ptr, value.len};
}
std::span<const uint8_t> view_of(const parquet::FixedLenByteArray& value, int32_t width) {
  return {value.ptr, static_cast<size_t>(width)};
}

// Any other encoding: the values are decoded by Arrow and written down as plain ones.
template <class DType>
void fill_decoded(const OpenPage& open, const parquet::ColumnDescriptor& column, int32_t present,
                  ParquetPage& page) {
  const auto base = parquet::MakeDecoder(DType::type_num, open.encoding, &column);
  const auto decoder = dynamic_cast<parquet::TypedDecoder<DType>*>(base.get());
  CANTILEVER_CHECK(decoder != nullptr, "the encoding of the page does not fit its column");
  decoder->SetData(open.entries, open.values.data(), static_cast<int>(open.values.size()));
  std::vector<typename DType::c_type> step;
  size_t at = 0;
  int32_t left = present;
  fill_offsets(page, [&] {
    if (at == step.size()) {
      step.resize(static_cast<size_t>(std::min(left, kDecodeStep)));
      const int wanted = static_cast<int>(step.size());
      CANTILEVER_CHECK(decoder->Decode(step.data(), wanted) == wanted,
                       "the page ends before its last value");
      left -= wanted;
      at = 0;
    }
    const std::span<const uint8_t> value = view_of(step[at++], page.width);
    const size_t start = page.decoded.size();
    CANTILEVER_CHECK(start + value.size() + 4 <= kMostDecoded, "the page decodes to more than ",
                     kMostDecoded, " bytes");
    if (page.width < 0) {
      const auto length = static_cast<uint32_t>(value.size());
      const auto* bytes = reinterpret_cast<const std::byte*>(&length);
      page.decoded.insert(page.decoded.end(), bytes, bytes + 4);
    }
    const auto* bytes = reinterpret_cast<const std::byte*>(value.data());
    page.decoded.insert(page.decoded.end(), bytes, bytes + value.size());
    return static_cast<uint32_t>(start);
  });
}

bool is_fixed(const parquet::ColumnDescriptor& column) {
  return column.physical_type() == parquet::Type::FIXED_LEN_BYTE_ARRAY;
}

// What keeps plain values: the mapped file when they lie in it.
void keep(const ParquetPageBytes& bytes, const parquet::Page& open, std::span<const uint8_t> values,
          ParquetPage& page) {
  page.values = std::as_bytes(values);
  const std::byte* first = bytes.bytes.data();
  if (page.values.data() >= first && page.values.data() <= first + bytes.bytes.size()) {
    page.mapped = bytes.mapped;
  } else {
    page.buffer = open.buffer();
  }
}

void count_bytes(ParquetPage& page) {
  constexpr int64_t kOverhead = 256;
  page.bytes = kOverhead + static_cast<int64_t>(page.decoded.capacity()) +
               4 * static_cast<int64_t>(page.offsets.capacity() + page.row_starts.capacity());
  if (page.buffer) page.bytes += page.buffer->capacity();
  // Counted for every page, so that pages kept never hold more than they are counted for.
  if (page.dictionary) page.bytes += page.dictionary->bytes;
}

void fill_plain(const ParquetPageBytes& bytes, const OpenPage& open, ParquetPage& page) {
  PlainCursor cursor(open.values, page.width);
  fill_offsets(page, [&] { return cursor.next(); });
  keep(bytes, *open.page, open.values, page);
}

}  // namespace

std::optional<std::span<const std::byte>> ParquetPage::value(int64_t entry) const {
  const uint32_t offset = offsets.at(static_cast<size_t>(entry));
  if (offset == kNull) return std::nullopt;
  if (width >= 0) return values.subspan(offset, static_cast<size_t>(width));
  uint32_t length = 0;
  std::memcpy(&length, values.data() + offset, 4);
  return values.subspan(size_t{offset} + 4, length);
}

std::shared_ptr<ParquetPage> decode_data_page(const ParquetPageBytes& bytes,
                                              const ParquetDictionary& dictionary) {
  const OpenPage open = open_data_page(bytes);
  const parquet::ColumnDescriptor& column = *bytes.column;
  auto page = std::make_shared<ParquetPage>();
  if (is_fixed(column)) page->width = column.type_length();
  const int32_t present = lay_out(open, column, *page);
  switch (open.encoding) {
    case parquet::Encoding::PLAIN:
      fill_plain(bytes, open, *page);
      break;
    case parquet::Encoding::PLAIN_DICTIONARY:
    case parquet::Encoding::RLE_DICTIONARY:
      page->dictionary = dictionary();
      page->values = page->dictionary->values;
      if (is_fixed(column)) {
        fill_coded<parquet::FLBAType>(open, column, present, *page);
      } else {
        fill_coded<parquet::ByteArrayType>(open, column, present, *page);
      }
      break;
    default:
      if (is_fixed(column)) {
        fill_decoded<parquet::FLBAType>(open, column, present, *page);
      } else {
        fill_decoded<parquet::ByteArrayType>(open, column, present, *page);
      }
      page->decoded.shrink_to_fit();
      page->values = page->decoded;
  }
  count_bytes(*page);
  return page;
}

std::shared_ptr<ParquetPage> decode_dictionary_page(const ParquetPageBytes& bytes) {
  OpenPage open;
  open.page = read_page(bytes);
  CANTILEVER_CHECK(open.page->type() == parquet::PageType::DICTIONARY_PAGE,
                   "there is no dictionary page");
  const auto& coded = static_cast<const parquet::DictionaryPage&>(*open.page);
  CANTILEVER_CHECK(coded.encoding() == parquet::Encoding::PLAIN ||
                       coded.encoding() == parquet::Encoding::PLAIN_DICTIONARY,
                   "the dictionary has the unknown encoding ",
                   parquet::EncodingToString(coded.encoding()));
  CANTILEVER_CHECK(coded.num_values() >= 0 && coded.num_values() <= kMostEntries,
                   "the dictionary claims ", coded.num_values(), " values");
  auto page = std::make_shared<ParquetPage>();
  if (is_fixed(*bytes.column)) page->width = bytes.column->type_length();
  open.values = {coded.data(), static_cast<size_t>(coded.size())};
  const int64_t most = page->width < 0 ? coded.size() / 4 : coded.size() / std::max(1, page->width);
  CANTILEVER_CHECK(coded.num_values() <= most, "the dictionary claims ", coded.num_values(),
                   " values in ", coded.size(), " bytes");
  page->offsets.resize(static_cast<size_t>(coded.num_values()), 0);
  fill_plain(bytes, open, *page);
  count_bytes(*page);
  return page;
}

ParquetPageRows count_page_rows(const ParquetPageBytes& bytes) {
  const OpenPage open = open_data_page(bytes);
  if (open.repetition.empty()) return {open.entries, false};
  const auto starts = std::count(open.repetition.begin(), open.repetition.end(), int16_t{0});
  return {static_cast<int32_t>(starts), open.entries > 0 && open.repetition.front() != 0};
}

}  // namespace cantilever
