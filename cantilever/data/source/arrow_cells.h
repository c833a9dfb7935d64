#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>

namespace arrow {
class Array;
class DataType;
}  // namespace arrow

namespace cantilever {

// Names file and row for a message; called only for an error.
using CellPlace = std::function<std::string()>;

// string, large_string, string_view, and dictionaries of them.
bool holds_text(const arrow::DataType& type);
// Lists of texts: list, large_list, fixed_size_list and the views of lists.
bool holds_texts(const arrow::DataType& type);
// binary in its kinds, fixed_size_binary included.
bool holds_bytes(const arrow::DataType& type);
// A struct with "bytes" (binary) or "path" (text), or both.
bool is_picture_struct(const arrow::DataType& type);

// The bytes of one cell of a text or binary column, in the array's own memory; nullopt for null.
// Offsets, views and dictionary indices of that cell are checked against the array's buffers, so
// that a damaged file never makes a view that leaves them: Error (starting with `where()`). `array`
// itself must have passed arrow::Array::Validate().
std::optional<std::span<const std::byte>> cell_bytes(const arrow::Array& array, int64_t row,
                                                     const CellPlace& where);

// First element and number of elements of one cell of a list column, checked as above; 0 elements
// for null.
std::pair<int64_t, int64_t> cell_elements(const arrow::Array& array, int64_t row,
                                          const CellPlace& where);
// The array of the elements of a list column.
std::shared_ptr<arrow::Array> list_elements(const arrow::Array& array);

// The child of a struct array by name; null when there is none.
std::shared_ptr<arrow::Array> struct_child(const arrow::Array& array, const std::string& name);

// Bytes of all buffers of an array outside of [begin, end), shared ones counted as often as they
// occur.
int64_t array_bytes(const arrow::Array& array, const std::byte* begin, const std::byte* end);

}  // namespace cantilever
