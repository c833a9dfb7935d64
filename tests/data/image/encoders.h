#pragma once

#include <cstddef>
#include <cstdio>

// After the two above, which it needs.
#include <jpeglib.h>
#include <zlib.h>

#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "tests/data/image/support.h"

namespace cantilever::test {

inline std::string big_endian_32(uint32_t value) {
  std::string bytes;
  for (int shift = 24; shift >= 0; shift -= 8) bytes += static_cast<char>(value >> shift & 255U);
  return bytes;
}

// A PNG put together chunk by chunk, sound or not.
class PngBuilder {
 public:
  PngBuilder(uint32_t width, uint32_t height, int bit_depth, int colour_type,
             bool interlaced = false)
      : bytes_("\x89PNG\r\n\x1a\n") {
    std::string header = big_endian_32(width) + big_endian_32(height);
    header += static_cast<char>(bit_depth);
    header += static_cast<char>(colour_type);
    header += std::string(2, '\0');
    header += static_cast<char>(interlaced ? 1 : 0);
    chunk("IHDR", header);
  }

  PngBuilder& chunk(std::string_view name, std::string_view body) {
    bytes_ += big_endian_32(static_cast<uint32_t>(body.size()));
    const size_t start = bytes_.size();
    bytes_ += name;
    bytes_ += body;
    const auto* summed = reinterpret_cast<const Bytef*>(bytes_.data() + start);
    const uLong sum = crc32(0, summed, static_cast<uInt>(bytes_.size() - start));
    bytes_ += big_endian_32(static_cast<uint32_t>(sum));
    return *this;
  }
  // `rows`: filter bytes and samples.
  PngBuilder& data(std::string_view rows) { return chunk("IDAT", deflated(rows)); }
  PngBuilder& end() { return chunk("IEND", ""); }
  PngBuilder& raw(std::string_view bytes) {
    bytes_ += bytes;
    return *this;
  }
  Bytes bytes() const { return to_bytes(bytes_); }

  static std::string deflated(std::string_view plain) {
    uLongf size = compressBound(plain.size());
    std::string packed(size, '\0');
    compress(reinterpret_cast<Bytef*>(packed.data()), &size,
             reinterpret_cast<const Bytef*>(plain.data()), plain.size());
    packed.resize(size);
    return packed;
  }

 private:
  std::string bytes_;
};

struct JpegOptions {
  int components =
      3;  // 1, 3 or 4; with 4 the samples are stored as they are, Adobe marker included
  int quality = 90;
  bool progressive = false;
  bool arithmetic = false;
  bool restarts = false;
  std::string app1 = {};  // body of an APP1 segment
};

// `samples`: [height, width, components]. libjpeg ends the process when it fails, in a test.
inline Bytes encode_jpeg(const std::vector<uint8_t>& samples, int width, int height,
                         const JpegOptions& options = {}) {
  jpeg_compress_struct compress = {};
  jpeg_error_mgr errors = {};
  compress.err = jpeg_std_error(&errors);
  jpeg_create_compress(&compress);
  unsigned char* out = nullptr;
  unsigned long size = 0;
  jpeg_mem_dest(&compress, &out, &size);
  compress.image_width = static_cast<JDIMENSION>(width);
  compress.image_height = static_cast<JDIMENSION>(height);
  compress.input_components = options.components;
  compress.in_color_space = options.components == 1   ? JCS_GRAYSCALE
                            : options.components == 3 ? JCS_RGB
                                                      : JCS_CMYK;
  jpeg_set_defaults(&compress);
  jpeg_set_quality(&compress, options.quality, TRUE);
  if (options.progressive) jpeg_simple_progression(&compress);
  compress.arith_code = options.arithmetic ? TRUE : FALSE;
  compress.restart_interval = options.restarts ? 1 : 0;
  jpeg_start_compress(&compress, TRUE);
  if (!options.app1.empty()) {
    jpeg_write_marker(&compress, JPEG_APP0 + 1,
                      reinterpret_cast<const JOCTET*>(options.app1.data()),
                      static_cast<unsigned int>(options.app1.size()));
  }
  const size_t row_size = static_cast<size_t>(width) * static_cast<size_t>(options.components);
  for (int y = 0; y < height; ++y) {
    JSAMPROW row = const_cast<JSAMPROW>(samples.data() + static_cast<size_t>(y) * row_size);
    jpeg_write_scanlines(&compress, &row, 1);
  }
  jpeg_finish_compress(&compress);
  jpeg_destroy_compress(&compress);
  Bytes bytes = to_bytes({reinterpret_cast<const char*>(out), size});
  std::free(out);
  return bytes;
}

// An EXIF block with the orientation tag alone.
inline std::string exif_block(int orientation, bool little_endian = true) {
  std::string block = "Exif";
  block += std::string(2, '\0');
  const auto number = [&](uint32_t value, int size) {
    for (int i = 0; i < size; ++i) {
      const int shift = 8 * (little_endian ? i : size - 1 - i);
      block += static_cast<char>(value >> shift & 255U);
    }
  };
  block += little_endian ? "II" : "MM";
  number(42, 2);
  number(8, 4);
  number(1, 2);    // entries
  number(274, 2);  // orientation
  number(3, 2);    // SHORT
  number(1, 4);
  number(static_cast<uint32_t>(orientation), 2);
  number(0, 2);
  number(0, 4);  // no next directory
  return block;
}

}  // namespace cantilever::test
