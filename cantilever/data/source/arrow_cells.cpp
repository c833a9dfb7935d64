#include "cantilever/data/source/arrow_cells.h"

#include <arrow/array.h>
#include <arrow/array/array_dict.h>
#include <arrow/buffer.h>
#include <arrow/type.h>

#include <cstring>
#include <functional>

#include "cantilever/base/error.h"

namespace cantilever {
namespace {

// Buffers of a mapped file may lie anywhere, so numbers are copied out rather than read in place.
template <class T>
T load(const uint8_t* base, int64_t index) {
  T value;
  std::memcpy(&value, base + index * static_cast<int64_t>(sizeof(T)), sizeof(T));
  return value;
}

// Value `row` of a buffer of T that must have it.
template <class T>
T checked_load(const std::shared_ptr<arrow::Buffer>& buffer, int64_t row, const CellPlace& where) {
  const int64_t size = static_cast<int64_t>(sizeof(T));
  CANTILEVER_CHECK(buffer && row >= 0 && row < buffer->size() / size, where(), ": value ", row,
                   " lies behind its buffer; the file is damaged");
  return load<T>(buffer->data(), row);
}

[[noreturn]] void refuse(const CellPlace& where, int64_t row, int64_t begin, int64_t end,
                         int64_t size) {
  throw_error(concat(where(), ": value ", row, " spans bytes ", begin, " to ", end, " of ", size,
                     "; the file is damaged"));
}

std::span<const std::byte> span_of(const std::shared_ptr<arrow::Buffer>& buffer, int64_t begin,
                                   int64_t end, int64_t row, const CellPlace& where) {
  const int64_t size = buffer ? buffer->size() : 0;
  if (begin < 0 || end < begin || end > size) refuse(where, row, begin, end, size);
  static const std::byte kNothing{};
  if (begin == end) return {&kNothing, 0};
  return {reinterpret_cast<const std::byte*>(buffer->data()) + begin,
          static_cast<size_t>(end - begin)};
}

template <class Offset>
std::span<const std::byte> offset_cell(const arrow::ArrayData& data, int64_t row,
                                       const CellPlace& where) {
  const int64_t at = data.offset + row;
  const int64_t begin = checked_load<Offset>(data.buffers[1], at, where);
  const int64_t end = checked_load<Offset>(data.buffers[1], at + 1, where);
  return span_of(data.buffers[2], begin, end, row, where);
}

// A view of 16 bytes: the length, then the bytes themselves when there are at most 12 of them, else
// 4 bytes of prefix, the number of the buffer and the offset in it.
std::span<const std::byte> view_cell(const arrow::ArrayData& data, int64_t row,
                                     const CellPlace& where) {
  struct View {
    int32_t size, prefix, buffer, offset;
  };
  const int64_t at = data.offset + row;
  const auto view = checked_load<View>(data.buffers[1], at, where);
  if (view.size >= 0 && view.size <= 12) {
    const int64_t begin = at * 16 + 4;
    return span_of(data.buffers[1], begin, begin + view.size, row, where);
  }
  CANTILEVER_CHECK(view.size >= 0 && view.buffer >= 0 &&
                       static_cast<size_t>(view.buffer) + 2 < data.buffers.size(),
                   where(), ": value ", row, " is in buffer ", view.buffer, " of ",
                   data.buffers.size() - 2, "; the file is damaged");
  return span_of(data.buffers[static_cast<size_t>(view.buffer) + 2], view.offset,
                 int64_t{view.offset} + view.size, row, where);
}

int64_t dictionary_index(const arrow::ArrayData& data, int64_t row, const CellPlace& where) {
  const int64_t at = data.offset + row;
  const auto& buffer = data.buffers[1];
  const auto& type = static_cast<const arrow::DictionaryType&>(*data.type);
  switch (type.index_type()->id()) {
    case arrow::Type::INT8:
      return checked_load<int8_t>(buffer, at, where);
    case arrow::Type::UINT8:
      return checked_load<uint8_t>(buffer, at, where);
    case arrow::Type::INT16:
      return checked_load<int16_t>(buffer, at, where);
    case arrow::Type::UINT16:
      return checked_load<uint16_t>(buffer, at, where);
    case arrow::Type::INT32:
      return checked_load<int32_t>(buffer, at, where);
    case arrow::Type::UINT32:
      return checked_load<uint32_t>(buffer, at, where);
    case arrow::Type::INT64:
      return checked_load<int64_t>(buffer, at, where);
    case arrow::Type::UINT64:  // more than an int64 holds turns negative, which is refused
      return static_cast<int64_t>(checked_load<uint64_t>(buffer, at, where));
    default:
      CANTILEVER_ASSERT(false, "dictionary indices of ", type.index_type()->ToString());
  }
}

std::span<const std::byte> fixed_cell(const arrow::ArrayData& data, int64_t row,
                                      const CellPlace& where) {
  const int64_t width = static_cast<const arrow::FixedSizeBinaryType&>(*data.type).byte_width();
  const int64_t begin = (data.offset + row) * width;
  return span_of(data.buffers[1], begin, begin + width, row, where);
}

int64_t data_bytes(const arrow::ArrayData& data, const std::byte* begin, const std::byte* end) {
  int64_t bytes = 0;
  for (const auto& buffer : data.buffers) {
    if (!buffer) continue;
    const auto* first = reinterpret_cast<const std::byte*>(buffer->data());
    const bool mapped = !std::less<>()(first, begin) && std::less<>()(first, end);
    bytes += mapped ? 0 : buffer->capacity();
  }
  for (const auto& child : data.child_data) bytes += data_bytes(*child, begin, end);
  if (data.dictionary) bytes += data_bytes(*data.dictionary, begin, end);
  return bytes;
}

template <class Offset>
std::pair<int64_t, int64_t> offset_elements(const arrow::ArrayData& data, int64_t row,
                                            const CellPlace& where) {
  const int64_t at = data.offset + row;
  const int64_t begin = checked_load<Offset>(data.buffers[1], at, where);
  return {begin, checked_load<Offset>(data.buffers[1], at + 1, where) - begin};
}

template <class Offset>
std::pair<int64_t, int64_t> view_elements(const arrow::ArrayData& data, int64_t row,
                                          const CellPlace& where) {
  const int64_t at = data.offset + row;
  return {checked_load<Offset>(data.buffers[1], at, where),
          checked_load<Offset>(data.buffers[2], at, where)};
}

}  // namespace

bool holds_text(const arrow::DataType& type) {
  switch (type.id()) {
    case arrow::Type::STRING:
    case arrow::Type::LARGE_STRING:
    case arrow::Type::STRING_VIEW:
      return true;
    case arrow::Type::DICTIONARY:
      return holds_text(*static_cast<const arrow::DictionaryType&>(type).value_type());
    default:
      return false;
  }
}

bool holds_texts(const arrow::DataType& type) {
  switch (type.id()) {
    case arrow::Type::LIST:
    case arrow::Type::LARGE_LIST:
    case arrow::Type::FIXED_SIZE_LIST:
    case arrow::Type::LIST_VIEW:
    case arrow::Type::LARGE_LIST_VIEW:
      return holds_text(*static_cast<const arrow::BaseListType&>(type).value_type());
    default:
      return false;
  }
}

bool holds_bytes(const arrow::DataType& type) {
  switch (type.id()) {
    case arrow::Type::BINARY:
    case arrow::Type::LARGE_BINARY:
    case arrow::Type::BINARY_VIEW:
    case arrow::Type::FIXED_SIZE_BINARY:
      return true;
    case arrow::Type::DICTIONARY:
      return holds_bytes(*static_cast<const arrow::DictionaryType&>(type).value_type());
    default:
      return false;
  }
}

bool is_picture_struct(const arrow::DataType& type) {
  if (type.id() != arrow::Type::STRUCT) return false;
  const auto& fields = static_cast<const arrow::StructType&>(type);
  const auto bytes = fields.GetFieldByName("bytes");
  const auto path = fields.GetFieldByName("path");
  const auto fits = [](const std::shared_ptr<arrow::Field>& field, auto check) {
    return !field || field->type()->id() == arrow::Type::NA || check(*field->type());
  };
  return (bytes || path) && fits(bytes, holds_bytes) && fits(path, holds_text);
}

std::optional<std::span<const std::byte>> cell_bytes(const arrow::Array& array, int64_t row,
                                                     const CellPlace& where) {
  const arrow::ArrayData& data = *array.data();
  if (array.IsNull(row)) return std::nullopt;
  switch (array.type_id()) {
    case arrow::Type::STRING:
    case arrow::Type::BINARY:
      return offset_cell<int32_t>(data, row, where);
    case arrow::Type::LARGE_STRING:
    case arrow::Type::LARGE_BINARY:
      return offset_cell<int64_t>(data, row, where);
    case arrow::Type::STRING_VIEW:
    case arrow::Type::BINARY_VIEW:
      return view_cell(data, row, where);
    case arrow::Type::FIXED_SIZE_BINARY:
      return fixed_cell(data, row, where);
    case arrow::Type::DICTIONARY: {
      const auto& values = static_cast<const arrow::DictionaryArray&>(array).dictionary();
      const int64_t index = dictionary_index(data, row, where);
      CANTILEVER_CHECK(index >= 0 && index < values->length(), where(), ": a dictionary index is ",
                       index, " where the dictionary has ", values->length(),
                       " values; the file is damaged");
      return cell_bytes(*values, index, where);
    }
    case arrow::Type::NA:
      return std::nullopt;
    default:
      CANTILEVER_ASSERT(false, "a column of ", array.type()->ToString(), " was chosen");
  }
}

std::pair<int64_t, int64_t> cell_elements(const arrow::Array& array, int64_t row,
                                          const CellPlace& where) {
  if (array.IsNull(row)) return {0, 0};
  const arrow::ArrayData& data = *array.data();
  std::pair<int64_t, int64_t> span{0, 0};
  switch (array.type_id()) {
    case arrow::Type::LIST:
      span = offset_elements<int32_t>(data, row, where);
      break;
    case arrow::Type::LARGE_LIST:
      span = offset_elements<int64_t>(data, row, where);
      break;
    case arrow::Type::LIST_VIEW:
      span = view_elements<int32_t>(data, row, where);
      break;
    case arrow::Type::LARGE_LIST_VIEW:
      span = view_elements<int64_t>(data, row, where);
      break;
    case arrow::Type::FIXED_SIZE_LIST: {
      const int64_t size = static_cast<const arrow::FixedSizeListType&>(*data.type).list_size();
      span = {(data.offset + row) * size, size};
      break;
    }
    default:
      CANTILEVER_ASSERT(false, "a list of ", array.type()->ToString(), " was chosen");
  }
  const int64_t elements = data.child_data.at(0)->length;
  CANTILEVER_CHECK(span.first >= 0 && span.second >= 0 && span.first <= elements &&
                       span.second <= elements - span.first,
                   where(), ": list ", row, " has elements ", span.first, " and ", span.second,
                   " more of ", elements, "; the file is damaged");
  return span;
}

std::shared_ptr<arrow::Array> list_elements(const arrow::Array& array) {
  return arrow::MakeArray(array.data()->child_data.at(0));
}

std::shared_ptr<arrow::Array> struct_child(const arrow::Array& array, const std::string& name) {
  return static_cast<const arrow::StructArray&>(array).GetFieldByName(name);
}

int64_t array_bytes(const arrow::Array& array, const std::byte* begin, const std::byte* end) {
  return data_bytes(*array.data(), begin, end);
}

}  // namespace cantilever
