#pragma once

#include <filesystem>
#include <vector>

#include "cantilever/data/image/decode.h"

namespace cantilever {

std::vector<std::byte> encode_png(const ImageView& image);
void write_png(const std::filesystem::path& path, const ImageView& image);  // atomic

}  // namespace cantilever
