#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cantilever/base/error.h"
#include "cantilever/data/image/decode.h"
#include "cantilever/data/image/transform.h"

namespace cantilever::test {

using Bytes = std::vector<std::byte>;

inline Bytes to_bytes(std::string_view text) {
  const auto* first = reinterpret_cast<const std::byte*>(text.data());
  return {first, first + text.size()};
}

inline std::string_view to_text(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

inline constexpr std::array kConcreteSemantics = {
    PixelSemantics::kTvFloatAa, PixelSemantics::kTvFloatNoaa, PixelSemantics::kTvU8,
    PixelSemantics::kPilU8, PixelSemantics::kHfProcessor};

// What decoding says, "" when it succeeds.
inline std::string decode_error(std::span<const std::byte> encoded,
                                const DecodeOptions& options = {}) {
  try {
    decode_image(encoded, options);
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

// The picture of make_transform_golden.py.
inline DecodedImage synthetic_picture(int width, int height) {
  DecodedImage image;
  image.width = width;
  image.height = height;
  uint32_t state = static_cast<uint32_t>(width) * 1009U + static_cast<uint32_t>(height);
  for (int index = 0; index < width * height; ++index) {
    for (int c = 0; c < 3; ++c) {
      state = state * 1664525U + 1013904223U;
      const auto byte = static_cast<uint8_t>(state >> 24U);
      image.pixels.push_back(index % 4 == 3 ? (byte > 127 ? 255 : 0) : byte);
    }
  }
  return image;
}

// Little-endian numbers and blocks of a golden file.
class GoldenReader {
 public:
  explicit GoldenReader(const char* name) {
    const auto path = std::filesystem::path(CANTILEVER_TEST_ROOT) / "golden" / "image" / name;
    std::ifstream file(path, std::ios::binary);
    bytes_.assign(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>());
    CANTILEVER_CHECK(!bytes_.empty(), path.string(), " cannot be read");
  }

  int number() {
    uint32_t value = 0;
    for (size_t i = 0; i < 4; ++i) {
      value |= uint32_t{static_cast<unsigned char>(take(1)[0])} << (8U * i);
    }
    return static_cast<int>(value);
  }
  std::string_view take(size_t length) {
    CANTILEVER_CHECK(at_ + length <= bytes_.size(), "golden file ends early");
    at_ += length;
    return std::string_view(bytes_).substr(at_ - length, length);
  }
  std::string_view block() { return take(static_cast<size_t>(number())); }
  bool at_end() const { return at_ == bytes_.size(); }

 private:
  std::string bytes_;
  size_t at_ = 0;
};

inline const char* corpus() {
  return std::getenv("CANTILEVER_CORPUS");
}

}  // namespace cantilever::test

#define SKIP_WITHOUT_CORPUS() \
  if (::cantilever::test::corpus() == nullptr) GTEST_SKIP() << "CANTILEVER_CORPUS is not set"
