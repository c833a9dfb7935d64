#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace cantilever {

// A stretch of bytes of a file.
struct Span {
  size_t begin = 0;
  size_t end = 0;

  std::string_view of(std::string_view text) const { return text.substr(begin, end - begin); }
};

// The two arrays of a COCO file.
struct CocoArrays {
  std::vector<Span> images;
  std::vector<Span> annotations;
};

// Those of a file that is one object with the arrays "images" and "annotations"; nullopt for any
// other JSON. Nothing is parsed. Throws Error when one of the arrays is broken.
std::optional<CocoArrays> find_coco_arrays(std::string_view text, size_t start,
                                           const std::string& file);

// The elements of the array that is the member `key` of a file that is one object; nullopt when it
// has no such array. Throws Error when the object or the array is broken.
std::optional<std::vector<Span>> find_json_array(std::string_view text, size_t start,
                                                 std::string_view key, const std::string& file);

// The elements of the array that starts at `open`. Throws Error when it is broken.
std::vector<Span> find_json_elements(std::string_view text, size_t open, const std::string& file);

// The offset behind the value that `text` starts with, by counting brackets; npos when it does not
// end.
size_t end_of_json_value(std::string_view text);

// Where the records of a JSON file stand, without parsing them: one a line, the elements of one
// array, or those of the array "data" of one object. `start`: behind a byte order mark. A line that
// is no JSON is a record all the same (its row fails when it is read). Throws Error when an array
// or an object around the records is broken.
std::vector<Span> find_json_records(std::string_view text, size_t start, const std::string& file);

}  // namespace cantilever
