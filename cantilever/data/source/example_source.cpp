#include "cantilever/data/source/example_source.h"

#include "cantilever/base/error.h"

namespace cantilever {

std::string ExampleSource::place(int64_t row) const {
  return concat(description(), ", row ", row);
}

}  // namespace cantilever
