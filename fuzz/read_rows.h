#pragma once

#include <filesystem>

namespace cantilever::fuzz {

// Opens a file as a data set and reads some of its rows, captions and places.
void read_as_set(const std::filesystem::path& path);

}  // namespace cantilever::fuzz
