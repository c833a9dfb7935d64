#pragma once

#include <cstddef>
#include <cstdio>

// After the two above, which it needs.
#include <jpeglib.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdlib>
#include <random>
#include <string>
#include <vector>

#include "cantilever/base/error.h"
#include "cantilever/data/image/jpeg_library.h"
#include "cantilever/data/image/jpeg_reader.h"
#include "cantilever/data/image/limits.h"
#include "tests/data/image/support.h"

namespace cantilever::test {

// What a JPEG of the tests of the fast path looks like.
struct JpegKind {
  int components = 3;
  int across = 1;  // sampling factors of the first component
  int down = 1;
  int quality = 90;
  bool optimised = false;  // Huffman tables
  bool progressive = false;
  int restart_interval = 0;  // MCUs
  int restart_rows = 0;
  bool jfif = true;
  bool adobe = false;
  bool coarse = false;                       // tables beyond eight bits
  std::array<int, 3> dc_tables = {0, 1, 1};  // of the components, 0 or 1
  std::array<int, 3> ac_tables = {0, 1, 1};

  std::string name() const {
    return concat(components, " components, ", across, "x", down, ", quality ", quality,
                  optimised ? ", optimised" : "", progressive ? ", progressive" : "", ", restarts ",
                  restart_interval, " ", restart_rows, jfif ? "" : ", no JFIF",
                  adobe ? ", Adobe" : "", coarse ? ", coarse" : "", ", DC tables ", dc_tables[0],
                  dc_tables[1], dc_tables[2], ", AC tables ", ac_tables[0], ac_tables[1],
                  ac_tables[2]);
  }
};

struct TestPicture {
  int width = 0;
  int height = 0;
  std::vector<uint8_t> samples;  // [height, width, components]
};

// Noise over a slope, with blocks of one colour: all kinds of blocks come up.
inline TestPicture test_picture(int width, int height, int components, std::mt19937& random) {
  TestPicture picture = {width, height, {}};
  picture.samples.reserve(static_cast<size_t>(width * height * components));
  const auto number = [&random](uint32_t limit) { return static_cast<int>(random() % limit); };
  const int slope_x = number(5);
  const int slope_y = number(5);
  const int noise = 1 + number(4) * number(60);
  const int period = 8 + number(60);
  for (int y = 0; y < height; ++y) {
    for (int x = 0; x < width; ++x) {
      for (int c = 0; c < components; ++c) {
        const bool is_flat = (x / period + y / period) % 3 == 0;
        const int level = is_flat ? 40 + 70 * c : 30 + slope_x * x + slope_y * y + 30 * c;
        const int rough = is_flat ? 0 : number(static_cast<uint32_t>(noise));
        picture.samples.push_back(static_cast<uint8_t>((level + rough) & 255));
      }
    }
  }
  return picture;
}

// A libjpeg compressor that writes to memory; libjpeg ends the process when it fails, in a test.
class JpegCompressor {
 public:
  JpegCompressor() {
    compress_.err = jpeg_std_error(&errors_);
    jpeg_create_compress(&compress_);
    jpeg_mem_dest(&compress_, &out_, &size_);
  }
  JpegCompressor(const JpegCompressor&) = delete;
  JpegCompressor& operator=(const JpegCompressor&) = delete;
  ~JpegCompressor() {
    jpeg_destroy_compress(&compress_);
    std::free(out_);
  }

  jpeg_compress_struct& operator*() { return compress_; }
  jpeg_compress_struct* operator->() { return &compress_; }
  Bytes finish() {
    jpeg_finish_compress(&compress_);
    return to_bytes({reinterpret_cast<const char*>(out_), size_});
  }

  void set(int width, int height, const JpegKind& kind) {
    compress_.image_width = static_cast<JDIMENSION>(width);
    compress_.image_height = static_cast<JDIMENSION>(height);
    compress_.input_components = kind.components;
    compress_.in_color_space = kind.components == 1   ? JCS_GRAYSCALE
                               : kind.components == 3 ? JCS_RGB
                                                      : JCS_CMYK;
    jpeg_set_defaults(&compress_);
    if (kind.coarse) {
      jpeg_set_linear_quality(&compress_, 2000, FALSE);
    } else {
      jpeg_set_quality(&compress_, kind.quality, TRUE);
    }
    compress_.comp_info[0].h_samp_factor = kind.across;
    compress_.comp_info[0].v_samp_factor = kind.down;
    for (size_t c = 0; c < 3 && c < static_cast<size_t>(kind.components); ++c) {
      compress_.comp_info[c].dc_tbl_no = kind.dc_tables[c];
      compress_.comp_info[c].ac_tbl_no = kind.ac_tables[c];
    }
    compress_.optimize_coding = kind.optimised ? TRUE : FALSE;
    compress_.restart_interval = static_cast<unsigned int>(kind.restart_interval);
    compress_.restart_in_rows = kind.restart_rows;
    compress_.write_JFIF_header = kind.jfif ? TRUE : FALSE;
    compress_.write_Adobe_marker = kind.adobe ? TRUE : FALSE;
    if (kind.progressive) jpeg_simple_progression(&compress_);
  }

 private:
  jpeg_compress_struct compress_ = {};
  jpeg_error_mgr errors_ = {};
  unsigned char* out_ = nullptr;
  unsigned long size_ = 0;
};

inline Bytes encode_jpeg_kind(const TestPicture& picture, const JpegKind& kind) {
  JpegCompressor compressor;
  compressor.set(picture.width, picture.height, kind);
  jpeg_start_compress(&*compressor, TRUE);
  const size_t row_size = picture.samples.size() / static_cast<size_t>(picture.height);
  for (size_t y = 0; y < static_cast<size_t>(picture.height); ++y) {
    JSAMPROW row = const_cast<JSAMPROW>(picture.samples.data() + y * row_size);
    jpeg_write_scanlines(&*compressor, &row, 1);
  }
  return compressor.finish();
}

// Pixels, or the reason why there are none.
struct JpegOutcome {
  int width = 0;
  int height = 0;
  std::vector<uint8_t> pixels;
  std::string error;
  int fast_rows = 0;

  // The rows and columns of `window`.
  std::vector<uint8_t> part(const ImageWindow& window) const {
    std::vector<uint8_t> pixels_of_window;
    for (int y = window.top; y < window.bottom; ++y) {
      const auto row = pixels.begin() + ptrdiff_t{3} * y * width;
      pixels_of_window.insert(pixels_of_window.end(), row + ptrdiff_t{3} * window.left,
                              row + ptrdiff_t{3} * window.right);
    }
    return pixels_of_window;
  }
};

// By libjpeg alone.
inline JpegOutcome library_outcome(std::span<const std::byte> encoded) {
  JpegOutcome outcome;
  try {
    const JpegHeader header = read_jpeg_header(encoded);
    outcome.width = header.width;
    outcome.height = header.height;
    check_picture_size("JPEG", header.width, header.height, {});
    JpegLibrary library;
    library.open(encoded, header);
    outcome.pixels.resize(static_cast<size_t>(header.width) * 3 *
                          static_cast<size_t>(header.height));
    for (int y = 0; y < header.height; ++y) {
      library.read_row(outcome.pixels.data() + ptrdiff_t{3} * header.width * y);
    }
    library.finish();
  } catch (const Error& error) {
    outcome.error = error.what();
    outcome.pixels.clear();
  }
  return outcome;
}

// By a reader, which may have read other pictures before. Without a window the whole picture.
inline JpegOutcome reader_outcome(JpegReader& reader, std::span<const std::byte> encoded,
                                  const ImageWindow* wanted = nullptr) {
  JpegOutcome outcome;
  try {
    const JpegHeader& header = reader.open(encoded, {});
    outcome.width = header.width;
    outcome.height = header.height;
    ImageWindow window = {0, 0, header.width, header.height};
    if (wanted != nullptr) {
      window = *wanted;
      reader.set_window(window);
    }
    for (int y = window.top; y < window.bottom;) {
      const RowBlock block = reader.next_rows();
      CANTILEVER_CHECK(block.first == y && block.count > 0, "rows out of order");
      for (int i = 0; i < block.count; ++i) {
        const uint8_t* row = block.pixels + i * block.stride;
        outcome.pixels.insert(outcome.pixels.end(), row + ptrdiff_t{3} * window.left,
                              row + ptrdiff_t{3} * window.right);
      }
      y += block.count;
    }
    reader.finish();
    outcome.fast_rows = reader.fast_rows();
  } catch (const Error& error) {
    outcome.error = error.what();
    outcome.pixels.clear();
  }
  return outcome;
}

inline ImageWindow random_window(int width, int height, std::mt19937& random) {
  const auto number = [&random](int limit) {
    return static_cast<int>(random() % static_cast<uint32_t>(limit));
  };
  ImageWindow window;
  window.left = number(width);
  window.top = number(height);
  window.right = window.left + 1 + number(width - window.left);
  window.bottom = window.top + 1 + number(height - window.top);
  return window;
}

}  // namespace cantilever::test
