#pragma once

#include <algorithm>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tests/data/image/support.h"

namespace cantilever::test {

inline std::string little_endian(uint64_t value, size_t size) {
  std::string bytes;
  for (size_t i = 0; i < size; ++i) bytes += static_cast<char>(value >> (8 * i) & 255U);
  return bytes;
}

inline std::string raw_bytes(std::initializer_list<int> values) {
  std::string text;
  for (const int value : values) text += static_cast<char>(value);
  return text;
}

// Pixels of one colour channel each, for comparing: "rgb" of every pixel.
inline std::vector<int> pixel_values(const DecodedImage& image) {
  return {image.pixels.begin(), image.pixels.end()};
}

inline std::vector<int> pixel_at(const DecodedImage& image, int x, int y) {
  const auto at = static_cast<size_t>(y * image.width + x) * 3;
  return {image.pixels[at], image.pixels[at + 1], image.pixels[at + 2]};
}

// A GIF of literal codes: the table never grows.
struct GifBuilder {
  int width = 4;
  int height = 3;
  int left = 0;
  int top = 0;
  int frame_width = 4;
  int frame_height = 3;
  std::string global_palette = {};  // 2, 4, 8 ... colours of three bytes
  std::string local_palette = {};
  std::string before = {};  // blocks before the picture
  bool interlaced = false;
  int bits = 3;
  std::string indices = {};
  bool has_end = true;

  static std::string control(int transparent) {
    return raw_bytes({0x21, 0xf9, 4, 1, 0, 0, transparent, 0});
  }

  static int flags(const std::string& palette) {
    int power = 0;
    while ((size_t{6} << power) < palette.size()) ++power;
    return palette.empty() ? 0 : 0x80 | power;
  }

  std::string codes() const {
    std::string out;
    uint32_t buffer = 0;
    int held = 0;
    const auto put = [&](uint32_t code) {
      buffer |= code << held;
      for (held += bits + 1; held >= 8; held -= 8, buffer >>= 8U) {
        out += static_cast<char>(buffer & 255U);
      }
    };
    const uint32_t clear = 1U << bits;
    for (size_t i = 0; i < indices.size(); ++i) {
      if (i % (clear - 2) == 0) put(clear);
      put(static_cast<uint8_t>(indices[i]));
    }
    if (has_end) put(clear + 1);
    out += static_cast<char>(buffer & 255U);
    return out;
  }

  Bytes bytes() const {
    std::string file = "GIF89a" + little_endian(static_cast<uint64_t>(width), 2) +
                       little_endian(static_cast<uint64_t>(height), 2) +
                       raw_bytes({flags(global_palette), 0, 0}) + global_palette + before + ",";
    for (const int number : {left, top, frame_width, frame_height}) {
      file += little_endian(static_cast<uint64_t>(number), 2);
    }
    file += raw_bytes({flags(local_palette) | (interlaced ? 0x40 : 0)}) + local_palette;
    file += static_cast<char>(bits);
    const std::string data = codes();
    for (size_t at = 0; at < data.size(); at += 255) {
      const std::string block = data.substr(at, 255);
      file += static_cast<char>(block.size());
      file += block;
    }
    return to_bytes(file + raw_bytes({0, 0x3b}));
  }
};

// A bitmap with a header of 12, 40 or more bytes.
struct BmpBuilder {
  int width = 3;
  int height = 2;
  int bits = 24;
  int header = 40;
  uint32_t compression = 0;
  uint32_t colours = 0;
  std::string palette = {};
  std::string masks = {};  // in a header of more than 40 bytes, else behind it
  std::string data = {};
  bool has_file_header = true;

  Bytes bytes() const {
    const auto side = [](int value, size_t size) {
      return little_endian(static_cast<uint64_t>(static_cast<int64_t>(value)), size);
    };
    std::string body = side(header, 4);
    if (header == 12) {
      body += side(width, 2) + side(height, 2) + side(1, 2) + side(bits, 2);
    } else {
      body += side(width, 4) + side(height, 4) + side(1, 2) + side(bits, 2) +
              little_endian(compression, 4) + little_endian(data.size(), 4) +
              little_endian(2835, 4) + little_endian(2835, 4) + little_endian(colours, 4) +
              little_endian(0, 4) + masks;
      if (body.size() < static_cast<size_t>(header)) body.resize(static_cast<size_t>(header));
    }
    body += palette;
    if (!has_file_header) return to_bytes(body + data);
    const size_t offset = 14 + body.size();
    return to_bytes("BM" + little_endian(0, 8) + little_endian(offset, 4) + body + data);
  }
};

// A little-endian TIFF of one directory behind its strips.
class TiffBuilder {
 public:
  TiffBuilder(uint32_t width, uint32_t height, int samples, int bits, int photometric) {
    tag(256, {width}).tag(257, {height});
    tag(258, std::vector<uint32_t>(static_cast<size_t>(samples), static_cast<uint32_t>(bits)));
    tag(259, {1}).tag(262, {static_cast<uint32_t>(photometric)});
    tag(277, {static_cast<uint32_t>(samples)});
  }

  // SHORT or, where a value needs it, LONG; replaces an earlier one.
  TiffBuilder& tag(uint32_t number, std::vector<uint32_t> values) {
    bool is_long = false;
    for (const uint32_t value : values) is_long = is_long || value > 0xffff;
    std::string data;
    for (const uint32_t value : values) data += little_endian(value, is_long ? 4 : 2);
    return raw_tag(number, is_long ? 4 : 3, static_cast<uint32_t>(values.size()), data);
  }
  TiffBuilder& raw_tag(uint32_t number, int type, uint32_t count, std::string data) {
    std::erase_if(entries_, [&](const Entry& entry) { return entry.number == number; });
    entries_.push_back({number, type, count, std::move(data)});
    return *this;
  }
  TiffBuilder& strip(std::string data) {
    strips_.push_back(std::move(data));
    return *this;
  }
  // Strips are tiles then.
  TiffBuilder& tiles(uint32_t across, uint32_t down) {
    is_tiled_ = true;
    return tag(322, {across}).tag(323, {down});
  }

  std::string text() {
    std::string body;
    std::vector<uint32_t> offsets;
    std::vector<uint32_t> sizes;
    for (const std::string& strip : strips_) {
      offsets.push_back(static_cast<uint32_t>(8 + body.size()));
      sizes.push_back(static_cast<uint32_t>(strip.size()));
      body += strip;
    }
    if (!strips_.empty() && !has(273)) {
      tag(is_tiled_ ? 324 : 273, offsets);
      tag(is_tiled_ ? 325 : 279, sizes);
    }
    std::sort(entries_.begin(), entries_.end(),
              [](const Entry& a, const Entry& b) { return a.number < b.number; });
    std::string directory = little_endian(entries_.size(), 2);
    for (Entry entry : entries_) {
      if (entry.data.size() > 4) {
        const size_t at = 8 + body.size();
        body += entry.data;
        entry.data = little_endian(at, 4);
      }
      entry.data.resize(4);
      directory += little_endian(entry.number, 2) +
                   little_endian(static_cast<uint64_t>(entry.type), 2) +
                   little_endian(entry.count, 4) + entry.data;
    }
    return raw_bytes({'I', 'I', 42, 0}) + little_endian(8 + body.size(), 4) + body + directory +
           little_endian(0, 4);
  }
  Bytes bytes() { return to_bytes(text()); }

 private:
  bool has(uint32_t number) const {
    return std::any_of(entries_.begin(), entries_.end(),
                       [&](const Entry& entry) { return entry.number == number; });
  }

  struct Entry {
    uint32_t number;
    int type;
    uint32_t count;
    std::string data;
  };
  std::vector<Entry> entries_;
  std::vector<std::string> strips_;
  bool is_tiled_ = false;
};

}  // namespace cantilever::test
