#include "cantilever/data/source/arrow_cells.h"

#include <arrow/array.h>
#include <arrow/array/array_dict.h>
#include <arrow/buffer.h>
#include <arrow/type.h>

#include "cantilever/base/error.h"

namespace cantilever {
namespace {

template <class ArrayType>
std::span<const std::byte> view_of(const arrow::Array& array, int64_t row) {
  const std::string_view view = static_cast<const ArrayType&>(array).GetView(row);
  return {reinterpret_cast<const std::byte*>(view.data()), view.size()};
}

int64_t data_bytes(const arrow::ArrayData& data) {
  int64_t bytes = 0;
  for (const auto& buffer : data.buffers) bytes += buffer ? buffer->size() : 0;
  for (const auto& child : data.child_data) bytes += data_bytes(*child);
  if (data.dictionary) bytes += data_bytes(*data.dictionary);
  return bytes;
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

bool holds_bytes(const arrow::DataType& type) {
  switch (type.id()) {
    case arrow::Type::BINARY:
    case arrow::Type::LARGE_BINARY:
    case arrow::Type::BINARY_VIEW:
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
                                                     const std::string& where) {
  if (array.IsNull(row)) return std::nullopt;
  switch (array.type_id()) {
    case arrow::Type::STRING:
    case arrow::Type::BINARY:
      return view_of<arrow::BinaryArray>(array, row);
    case arrow::Type::LARGE_STRING:
    case arrow::Type::LARGE_BINARY:
      return view_of<arrow::LargeBinaryArray>(array, row);
    case arrow::Type::STRING_VIEW:
    case arrow::Type::BINARY_VIEW:
      return view_of<arrow::BinaryViewArray>(array, row);
    case arrow::Type::DICTIONARY: {
      const auto& coded = static_cast<const arrow::DictionaryArray&>(array);
      const int64_t index = coded.GetValueIndex(row);
      CANTILEVER_CHECK(index >= 0 && index < coded.dictionary()->length(), where,
                       ": a dictionary index is ", index, " where the dictionary has ",
                       coded.dictionary()->length(), " values; the file is damaged");
      return cell_bytes(*coded.dictionary(), index, where);
    }
    case arrow::Type::NA:
      return std::nullopt;
    default:
      CANTILEVER_ASSERT(false, "a column of ", array.type()->ToString(), " was chosen");
  }
}

std::shared_ptr<arrow::Array> struct_child(const arrow::Array& array, const std::string& name) {
  return static_cast<const arrow::StructArray&>(array).GetFieldByName(name);
}

int64_t array_bytes(const arrow::Array& array) {
  return data_bytes(*array.data());
}

}  // namespace cantilever
