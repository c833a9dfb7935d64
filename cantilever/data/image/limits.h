#pragma once

#include <cstdint>

namespace cantilever {

struct DecodeOptions;

// Error when a header's size is nothing, larger than an int, or above options.max_pixels. Called
// before anything is allocated for pixels. `format` goes into the message.
void check_picture_size(const char* format, int64_t width, int64_t height,
                        const DecodeOptions& options);

}  // namespace cantilever
