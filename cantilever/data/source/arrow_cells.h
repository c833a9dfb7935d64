#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace arrow {
class Array;
class DataType;
}  // namespace arrow

namespace cantilever {

// string, large_string, string_view, and dictionaries of them.
bool holds_text(const arrow::DataType& type);
// binary in its kinds.
bool holds_bytes(const arrow::DataType& type);
// A struct with "bytes" (binary) or "path" (text), or both.
bool is_picture_struct(const arrow::DataType& type);

// The bytes of one cell of a text or binary column, in the array's own memory; nullopt for null.
// Throws Error (starting with `where`) when a dictionary index is out of range.
std::optional<std::span<const std::byte>> cell_bytes(const arrow::Array& array, int64_t row,
                                                     const std::string& where);

// The child of a struct array by name; null when there is none.
std::shared_ptr<arrow::Array> struct_child(const arrow::Array& array, const std::string& name);

// Bytes of all buffers of an array, shared ones counted as often as they occur.
int64_t array_bytes(const arrow::Array& array);

}  // namespace cantilever
