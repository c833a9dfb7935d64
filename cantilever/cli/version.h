#pragma once

#include <string>

#include "cantilever/io/json.h"

namespace cantilever {

// "cantilever 0.1.0".
std::string version_line();

// What this build is: version, compiler, libraries, CPU, threads, backends.
Json build_information(int threads);

}  // namespace cantilever
