#pragma once

#include <cstddef>
#include <cstdio>

// After the two above, which it needs.
#include <jpeglib.h>

#include <cstdint>
#include <cstdlib>
#include <span>
#include <string>
#include <vector>

#include "cantilever/base/error.h"
#include "cantilever/data/device/device_decoder.h"
#include "cantilever/data/image/transform.h"

namespace cantilever::test {

using Bytes = std::vector<std::byte>;

struct JpegKind {
  int components = 3;
  int luma_width = 2;  // sampling factors of the first component: 2, 2 is 4:2:0
  int luma_height = 2;
  int chroma_height = 1;
  bool progressive = false;
  bool arithmetic = false;
  bool stored_as_rgb = false;
  int restart_interval = 0;
  std::string app1 = {};  // body of an APP1 segment
};

// A picture with edges and noise. libjpeg ends the process when it fails, in a test.
inline Bytes make_jpeg(int width, int height, const JpegKind& kind = {}) {
  jpeg_compress_struct compress = {};
  jpeg_error_mgr errors = {};
  compress.err = jpeg_std_error(&errors);
  jpeg_create_compress(&compress);
  unsigned char* out = nullptr;
  unsigned long size = 0;
  jpeg_mem_dest(&compress, &out, &size);
  compress.image_width = static_cast<JDIMENSION>(width);
  compress.image_height = static_cast<JDIMENSION>(height);
  compress.input_components = kind.components;
  compress.in_color_space = kind.components == 1   ? JCS_GRAYSCALE
                            : kind.components == 3 ? JCS_RGB
                                                   : JCS_CMYK;
  jpeg_set_defaults(&compress);
  if (kind.stored_as_rgb) jpeg_set_colorspace(&compress, JCS_RGB);
  if (kind.components == 3) {
    compress.comp_info[0].h_samp_factor = kind.luma_width;
    compress.comp_info[0].v_samp_factor = kind.luma_height;
    compress.comp_info[1].v_samp_factor = kind.chroma_height;
    compress.comp_info[2].v_samp_factor = kind.chroma_height;
  }
  jpeg_set_quality(&compress, 90, TRUE);
  if (kind.progressive) jpeg_simple_progression(&compress);
  compress.arith_code = kind.arithmetic ? TRUE : FALSE;
  compress.restart_interval = static_cast<unsigned>(kind.restart_interval);
  jpeg_start_compress(&compress, TRUE);
  if (!kind.app1.empty()) {
    jpeg_write_marker(&compress, JPEG_APP0 + 1, reinterpret_cast<const JOCTET*>(kind.app1.data()),
                      static_cast<unsigned>(kind.app1.size()));
  }
  std::vector<JSAMPLE> row(static_cast<size_t>(width) * static_cast<size_t>(kind.components));
  uint32_t noise = static_cast<uint32_t>(width) * 31U + static_cast<uint32_t>(height);
  for (int y = 0; y < height; ++y) {
    for (size_t i = 0; i < row.size(); ++i) {
      noise = noise * 1664525U + 1013904223U;
      const auto x = static_cast<uint32_t>(i);
      const uint32_t edge = (x / 40 + static_cast<uint32_t>(y) / 12) % 2 * 120;
      row[i] = static_cast<JSAMPLE>(edge + x % 97 + (noise >> 28U));
    }
    JSAMPROW rows[1] = {row.data()};
    jpeg_write_scanlines(&compress, rows, 1);
  }
  jpeg_finish_compress(&compress);
  jpeg_destroy_compress(&compress);
  const auto* first = reinterpret_cast<const std::byte*>(out);
  Bytes bytes(first, first + size);
  std::free(out);
  return bytes;
}

// An EXIF block with the orientation tag alone.
inline std::string exif_block(int orientation) {
  std::string block("Exif\0\0II*\0\x08\0\0\0\x01\0\x12\x01\x03\0\x01\0\0\0", 24);
  block += static_cast<char>(orientation);
  block += std::string(7, '\0');
  return block;
}

// The host's way to the same picture; empty and the reason when it refuses.
struct HostResult {
  std::vector<float> pixels;
  std::string error;
};

inline HostResult on_the_host(std::span<const std::byte> encoded, const DecodeOptions& decode,
                              const TransformOptions& transform) {
  HostResult result;
  const auto side = static_cast<size_t>(transform.side);
  std::vector<float> pixels(3 * side * side);
  TransformScratch scratch;
  try {
    prepare_picture(encoded, decode, transform, nullptr, scratch,
                    {PixelType::kFloat32, pixels.data()});
    result.pixels = pixels;
  } catch (const Error& error) {
    result.error = error.what();
  }
  return result;
}

// A batch: pictures in an arena, jobs with places of their own.
class DeviceBatch {
 public:
  explicit DeviceBatch(TransformOptions transform = {}) : transform_(transform) {}

  void add(std::span<const std::byte> encoded, const DecodeOptions& decode = {}) {
    const auto side = static_cast<size_t>(transform_.side);
    jobs.emplace_back();
    jobs.back().picture = arena.add(encoded);
    jobs.back().decode = decode;
    jobs.back().transform = transform_;
    pixels.emplace_back(3 * side * side, -77.0F);
  }

  void decode(DeviceDecoder& decoder) {
    for (size_t i = 0; i < jobs.size(); ++i) jobs[i].place.data = pixels[i].data();
    decoder.decode(arena, jobs);
  }

  std::vector<DevicePath> paths() const {
    std::vector<DevicePath> found;
    for (const DeviceJob& job : jobs) found.push_back(job.path);
    return found;
  }

  EncodedArena arena;
  std::vector<DeviceJob> jobs;
  std::vector<std::vector<float>> pixels;

 private:
  TransformOptions transform_;
};

}  // namespace cantilever::test
