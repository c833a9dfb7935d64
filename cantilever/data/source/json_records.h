#pragma once

#include <cstddef>
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

// Where the records of a JSON file stand, without parsing them: one a line, the elements of one
// array, or those of the array "data" of one object. `start`: behind a byte order mark. A line that
// is no JSON is a record all the same (its row fails when it is read). Throws Error when an array
// or an object around the records is broken, and for COCO captions files.
std::vector<Span> find_json_records(std::string_view text, size_t start, const std::string& file);

}  // namespace cantilever
