#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace cantilever {

// What stands in a GIF before the picture data of its first frame.
struct GifHeader {
  int width = 0;  // of the screen, which grows where the frame is larger
  int height = 0;
  int left = 0;  // of the frame
  int top = 0;
  int frame_width = 0;
  int frame_height = 0;
  bool interlaced = false;
  // Empty when indices are grey levels: there is no palette but that ramp.
  std::string_view palette;
  bool is_grey = false;  // by Pillow's mode, which may be "L" with colours of the global palette
  std::optional<uint8_t> transparent;
  int code_bits = 0;       // minimum code size of the picture data
  size_t data_offset = 0;  // of its first block
};

// With Pillow's tolerance (bytes between blocks) and refusals. `encoded` must outlive the result.
// Throws Error.
GifHeader read_gif_header(std::span<const std::byte> encoded);

}  // namespace cantilever
