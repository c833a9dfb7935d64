#include "cantilever/data/image/gif_blocks.h"

#include <algorithm>

#include "cantilever/base/error.h"

namespace cantilever {
namespace {

using std::string_view_literals::operator""sv;

uint8_t byte_at(std::string_view bytes, size_t at) {
  return static_cast<uint8_t>(bytes[at]);
}

int number_at(std::string_view bytes, size_t at) {
  return byte_at(bytes, at) | byte_at(bytes, at + 1) << 8;
}

// Pillow drops a palette whose entry i is the grey level i: the picture is grey then.
bool is_grey_ramp(std::string_view palette) {
  for (size_t i = 0; i < palette.size(); ++i) {
    if (byte_at(palette, i) != i / 3) return false;
  }
  return true;
}

class HeaderReader {
 public:
  explicit HeaderReader(std::string_view file) : file_(file) {}

  GifHeader read() {
    const std::string_view screen = take(13, "its header");
    header_.width = number_at(screen, 6);
    header_.height = number_at(screen, 8);
    const uint8_t flags = byte_at(screen, 10);
    if ((flags & 128U) != 0) header_.palette = take_palette(flags);
    while (true) {
      CANTILEVER_CHECK(at_ < file_.size() && file_[at_] != ';', "GIF: it ends at byte ", at_,
                       " without a picture");
      const char mark = file_[at_++];
      if (mark == '!') read_extension();
      if (mark == ',') break;  // any other byte is passed over
    }
    read_frame();
    return header_;
  }

 private:
  std::string_view take(size_t length, const char* what) {
    CANTILEVER_CHECK(length <= file_.size() - at_, "GIF: truncated in ", what, " at byte ", at_);
    at_ += length;
    return file_.substr(at_ - length, length);
  }

  std::string_view take_palette(uint8_t flags) {
    const std::string_view palette = take(size_t{3} << ((flags & 7U) + 1), "a palette");
    return is_grey_ramp(palette) ? std::string_view() : palette;
  }

  // The next block of an extension, cut off by the end of the file; nothing at the last one.
  std::optional<std::string_view> next_block() {
    if (at_ >= file_.size()) return std::nullopt;
    const size_t length = byte_at(file_, at_++);
    if (length == 0) return std::nullopt;
    const std::string_view block = file_.substr(at_, length);
    at_ += block.size();
    return block;
  }

  void read_extension() {
    constexpr uint8_t kControl = 249;
    constexpr uint8_t kComment = 254;
    constexpr uint8_t kApplication = 255;
    const uint8_t label = byte_at(take(1, "an extension"), 0);
    std::optional<std::string_view> block = next_block();
    if (label == kComment) {
      while (block && !block->empty()) block = next_block();
      return;
    }
    if (label == kControl && block) {
      CANTILEVER_CHECK(block->size() >= 3, "GIF: a graphic control extension of ", block->size(),
                       " bytes before byte ", at_, ", it needs 4");
      if ((byte_at(*block, 0) & 1U) != 0) {
        CANTILEVER_CHECK(block->size() >= 4,
                         "GIF: a graphic control extension of 3 bytes before byte ", at_,
                         ", it needs 4");
        header_.transparent = byte_at(*block, 3);
      }
    } else if (label == kApplication && block && block->starts_with("NETSCAPE2.0"sv)) {
      next_block();
    }
    // Where the chain has ended already, Pillow takes what follows for one more. So do we, lest we
    // find another picture than it does.
    while (const auto more = next_block()) {
      if (more->empty()) break;
    }
  }

  void read_frame() {
    const std::string_view frame = take(9, "the descriptor of its picture");
    header_.left = number_at(frame, 0);
    header_.top = number_at(frame, 2);
    header_.frame_width = number_at(frame, 4);
    header_.frame_height = number_at(frame, 6);
    header_.width = std::max(header_.width, header_.left + header_.frame_width);
    header_.height = std::max(header_.height, header_.top + header_.frame_height);
    const uint8_t flags = byte_at(frame, 8);
    header_.interlaced = (flags & 64U) != 0;
    header_.is_grey = header_.palette.empty();
    if ((flags & 128U) != 0) {
      const std::string_view local = take_palette(flags);
      header_.is_grey = local.empty();
      if (!local.empty()) header_.palette = local;
    }
    header_.code_bits = byte_at(take(1, "the code size"), 0);
    header_.data_offset = at_;
  }

  std::string_view file_;
  size_t at_ = 0;
  GifHeader header_;
};

}  // namespace

GifHeader read_gif_header(std::span<const std::byte> encoded) {
  return HeaderReader({reinterpret_cast<const char*>(encoded.data()), encoded.size()}).read();
}

}  // namespace cantilever
