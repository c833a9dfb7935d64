#pragma once

#include <memory>
#include <vector>

#include "cantilever/data/source/example_source.h"

namespace cantilever {

// The rows of several sources, one after the other.
std::shared_ptr<ExampleSource> join_shards(std::vector<std::shared_ptr<ExampleSource>> shards);

}  // namespace cantilever
