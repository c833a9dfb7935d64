#include "cantilever/data/source/example_source.h"

#include "cantilever/base/error.h"

namespace cantilever {

int64_t ExampleSource::caption_count(int64_t) const {
  return 1;
}

Example ExampleSource::get(int64_t row) const {
  Example example;
  read(row, 0, example);
  return example;
}

std::string ExampleSource::caption(int64_t row) const {
  std::string text;
  read_caption(row, 0, text);
  return text;
}

std::string ExampleSource::place(int64_t row) const {
  return concat(description(), ", row ", row);
}

}  // namespace cantilever
