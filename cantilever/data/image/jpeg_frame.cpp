#include "cantilever/data/image/jpeg_frame.h"

#include <algorithm>
#include <string_view>

// The rules by which libjpeg takes three components for YCbCr or for RGB are those of its
// default_decompress_parms; whatever these files would need more is left to it.

namespace cantilever {

const std::array<uint8_t, 64> kJpegNaturalOrder = {
    0,  1,  8,  16, 9,  2,  3,  10, 17, 24, 32, 25, 18, 11, 4,  5,  12, 19, 26, 33, 40, 48,
    41, 34, 27, 20, 13, 6,  7,  14, 21, 28, 35, 42, 49, 56, 57, 50, 43, 36, 29, 22, 15, 23,
    30, 37, 44, 51, 58, 59, 52, 45, 38, 31, 39, 46, 53, 60, 61, 54, 47, 55, 62, 63};

namespace {

using Bytes = std::span<const uint8_t>;

constexpr int kTables = 4;
constexpr int kMostSide = 65500;  // JPEG_MAX_DIMENSION of libjpeg, which refuses more

int big_endian_16(Bytes bytes, size_t at) {
  return bytes[at] << 8 | bytes[at + 1];
}

bool starts_with(Bytes body, std::string_view text) {
  return body.size() >= text.size() &&
         std::equal(text.begin(), text.end(), body.begin(),
                    [](char a, uint8_t b) { return static_cast<uint8_t>(a) == b; });
}

class FrameReader {
 public:
  FrameReader(Bytes file, JpegFrame& frame) : file_(file), frame_(frame) {}

  bool read() {
    if (file_.size() < 4 || file_[0] != 0xff || file_[1] != 0xd8) return false;
    size_t at = 2;
    while (file_.size() - at >= 4) {
      const uint8_t marker = file_[at + 1];
      const auto length = static_cast<size_t>(big_endian_16(file_, at + 2));
      if (file_[at] != 0xff || length < 2 || length > file_.size() - at - 2) return false;
      const Bytes body = file_.subspan(at + 4, length - 2);
      at += 2 + length;
      if (marker == 0xda) {
        frame_.scan_begin = at;
        return read_scan(body);
      }
      if (!read_segment(marker, body)) return false;
    }
    return false;
  }

 private:
  bool read_segment(uint8_t marker, Bytes body) {
    switch (marker) {
      case 0xc0:
      case 0xc1:
        return read_frame(body);
      case 0xc4:
        return read_codes(body);
      case 0xdb:
        return read_quantisation(body);
      case 0xdd:
        if (body.size() != 2) return false;
        frame_.restart_interval = big_endian_16(body, 0);
        return true;
      case 0xe0:
        saw_jfif_ = saw_jfif_ || (body.size() >= 14 && starts_with(body, {"JFIF\0", 5}));
        return true;
      case 0xee:
        if (body.size() >= 12 && starts_with(body, "Adobe")) adobe_transform_ = body[11];
        return true;
      case 0xfe:
        return true;
      default:
        return marker >= 0xe1 && marker <= 0xef;
    }
  }

  bool read_frame(Bytes body) {
    if (frame_.components != 0 || body.size() < 6 || body[0] != 8) return false;
    frame_.height = big_endian_16(body, 1);
    frame_.width = big_endian_16(body, 3);
    frame_.components = body[5];
    const auto components = static_cast<size_t>(frame_.components);
    if ((components != 1 && components != 3) || body.size() != 6 + 3 * components) return false;
    if (frame_.width == 0 || frame_.width > kMostSide) return false;
    if (frame_.height == 0 || frame_.height > kMostSide) return false;
    for (size_t c = 0; c < components; ++c) {
      ids_[c] = body[6 + 3 * c];
      sampling_[c] = body[7 + 3 * c];
      quantisation_of_[c] = body[8 + 3 * c];
      if (quantisation_of_[c] >= kTables) return false;
    }
    return set_sampling();
  }

  // One component alone is coded block by block, whatever its sampling factors say.
  bool set_sampling() {
    const int across = sampling_[0] >> 4;
    const int down = sampling_[0] & 15;
    if (across < 1 || down < 1 || across > 4 || down > 4) return false;
    if (frame_.components == 1) return true;
    if (sampling_[1] != 0x11 || sampling_[2] != 0x11 || across > 2 || down > 2) return false;
    if (ids_[0] == ids_[1] || ids_[0] == ids_[2] || ids_[1] == ids_[2]) return false;
    frame_.across = across;
    frame_.down = down;
    // libjpeg does not interpolate chroma of one or two columns.
    return across == 1 || frame_.chroma_width() > 2;
  }

  bool read_codes(Bytes body) {
    while (!body.empty()) {
      if (body.size() < 17) return false;
      const size_t index = body[0] & 15U;
      const size_t is_ac = body[0] >> 4U;
      if (index >= kTables || is_ac > 1) return false;
      JpegCodeLengths codes = {body.data() + 1, body.data() + 17, 0};
      for (int i = 0; i < 16; ++i) codes.total += codes.counts[i];
      const auto total = static_cast<size_t>(codes.total);
      if (total > 256 || total > body.size() - 17) return false;
      codes_[is_ac][index] = codes;
      body = body.subspan(17 + total);
    }
    return true;
  }

  bool read_quantisation(Bytes body) {
    while (!body.empty()) {
      const size_t index = body[0] & 15U;
      const size_t bytes = (body[0] >> 4U) + 1U;
      if (index >= kTables || bytes > 2 || body.size() < 1 + 64 * bytes) return false;
      for (size_t k = 0; k < 64; ++k) {
        const size_t at = 1 + k * bytes;
        const int value = bytes == 2 ? big_endian_16(body, at) : body[at];
        quantisation_[index][kJpegNaturalOrder[k]] = static_cast<uint16_t>(value);
      }
      has_quantisation_[index] = true;
      body = body.subspan(1 + 64 * bytes);
    }
    return true;
  }

  bool read_scan(Bytes body) {
    const auto components = static_cast<size_t>(frame_.components);
    if (components == 0 || body.size() != 4 + 2 * components || body[0] != components) return false;
    for (size_t c = 0; c < components; ++c) {
      const size_t dc = body[2 + 2 * c] >> 4U;
      const size_t ac = body[2 + 2 * c] & 15U;
      if (body[1 + 2 * c] != ids_[c] || dc >= kTables || ac >= kTables) return false;
      JpegFrameComponent& component = frame_.component[c];
      component.dc = codes_[0][dc];
      component.ac = codes_[1][ac];
      component.quantisation = quantisation_[quantisation_of_[c]];
      if (component.dc.counts == nullptr || component.ac.counts == nullptr) return false;
      if (!has_quantisation_[quantisation_of_[c]]) return false;
    }
    const Bytes spectrum = body.last(3);
    const bool is_whole = spectrum[0] == 0 && spectrum[1] == 63 && spectrum[2] == 0;
    return is_whole && (components == 1 || is_ycc());
  }

  bool is_ycc() const {
    if (saw_jfif_) return true;
    if (adobe_transform_ >= 0) return adobe_transform_ == 1;
    return ids_ != std::array<uint8_t, 3>{0x52, 0x47, 0x42};  // "RGB"
  }

  Bytes file_;
  JpegFrame& frame_;
  std::array<uint8_t, 3> ids_ = {};
  std::array<uint8_t, 3> sampling_ = {};
  std::array<uint8_t, 3> quantisation_of_ = {};
  std::array<std::array<uint16_t, 64>, kTables> quantisation_ = {};
  std::array<bool, kTables> has_quantisation_ = {};
  std::array<std::array<JpegCodeLengths, kTables>, 2> codes_ = {};  // [DC, AC]
  bool saw_jfif_ = false;
  int adobe_transform_ = -1;
};

}  // namespace

bool read_jpeg_frame(std::span<const std::byte> encoded, JpegFrame& frame) {
  frame = JpegFrame();
  const Bytes file(reinterpret_cast<const uint8_t*>(encoded.data()), encoded.size());
  return FrameReader(file, frame).read();
}

}  // namespace cantilever
