#include "cantilever/data/image/tiff_codec.h"

#include <tiffio.h>

#include <algorithm>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <memory>
#include <mutex>

#include "cantilever/base/error.h"
#include "cantilever/data/image/planes.h"

namespace cantilever {
namespace {

// A file in memory for libtiff, and where it puts its first complaint.
struct Source {
  const unsigned char* bytes = nullptr;
  toff_t size = 0;
  toff_t at = 0;
  char complaint[200] = "";
};

Source& source_of(thandle_t handle) {
  return *static_cast<Source*>(handle);
}

tmsize_t read_bytes(thandle_t handle, void* to, tmsize_t wanted) {
  Source& source = source_of(handle);
  if (source.at >= source.size || wanted <= 0) return 0;
  const auto count = std::min(static_cast<toff_t>(wanted), source.size - source.at);
  std::memcpy(to, source.bytes + source.at, count);
  source.at += count;
  return static_cast<tmsize_t>(count);
}

tmsize_t refuse_to_write(thandle_t, void*, tmsize_t) {
  return 0;
}

toff_t seek_to(thandle_t handle, toff_t offset, int whence) {
  Source& source = source_of(handle);
  source.at = offset + (whence == SEEK_CUR ? source.at : whence == SEEK_END ? source.size : 0);
  return source.at;
}

int do_nothing(thandle_t) {
  return 0;
}

toff_t size_of(thandle_t handle) {
  return source_of(handle).size;
}

// libtiff reads where the file lies and does not write there (mode "r").
int map_bytes(thandle_t handle, void** base, toff_t* size) {
  *base = const_cast<unsigned char*>(source_of(handle).bytes);
  *size = source_of(handle).size;
  return 1;
}

void unmap_bytes(thandle_t, void*, toff_t) {}

int keep_complaint(TIFF*, void* user, const char*, const char* format, va_list arguments) {
  auto* source = static_cast<Source*>(user);
  if (source->complaint[0] == '\0') {
    std::vsnprintf(source->complaint, sizeof(source->complaint), format, arguments);
  }
  return 1;  // nobody else is told
}

int ignore_warning(TIFF*, void*, const char*, const char*, va_list) {
  return 1;
}

// What libtiff says without knowing the file would go to standard error.
void silence_global_handlers() {
  static std::once_flag once;
  std::call_once(once, [] {
    TIFFSetErrorHandler(nullptr);
    TIFFSetErrorHandlerExt(nullptr);
    TIFFSetWarningHandler(nullptr);
    TIFFSetWarningHandlerExt(nullptr);
  });
}

struct Closer {
  void operator()(TIFF* tiff) const { TIFFClose(tiff); }
};
using TiffPointer = std::unique_ptr<TIFF, Closer>;

struct OptionsDeleter {
  void operator()(TIFFOpenOptions* options) const { TIFFOpenOptionsFree(options); }
};

TiffPointer open_tiff(Source& source, int64_t pixels) {
  silence_global_handlers();
  const std::unique_ptr<TIFFOpenOptions, OptionsDeleter> options(TIFFOpenOptionsAlloc());
  CANTILEVER_CHECK(options != nullptr, "TIFF: no memory to open it");
  // For a strip of an honest picture there is room enough.
  TIFFOpenOptionsSetMaxSingleMemAlloc(options.get(), (int64_t{64} << 20U) + 8 * pixels);
  TIFFOpenOptionsSetErrorHandlerExtR(options.get(), keep_complaint, &source);
  TIFFOpenOptionsSetWarningHandlerExtR(options.get(), ignore_warning, &source);
  return TiffPointer(TIFFClientOpenExt("picture", "r", &source, read_bytes, refuse_to_write,
                                       seek_to, do_nothing, size_of, map_bytes, unmap_bytes,
                                       options.get()));
}

struct Free {
  void operator()(void* bytes) const { std::free(bytes); }
};
using Buffer = std::unique_ptr<uint8_t, Free>;

// Zero, and backed by memory only where it is written.
Buffer make_buffer(int64_t size) {
  Buffer buffer(static_cast<uint8_t*>(std::calloc(static_cast<size_t>(size), 1)));
  CANTILEVER_CHECK(buffer != nullptr, "TIFF: no memory for ", size, " bytes of picture data");
  return buffer;
}

class Decoder {
 public:
  Decoder(std::span<const std::byte> encoded, const TiffLayout& layout, DecodedImage& image)
      : layout_(layout), image_(image), unpacker_(find_raw_layout(layout.mode, layout.unpacked)) {
    source_.bytes = reinterpret_cast<const unsigned char*>(encoded.data());
    source_.size = encoded.size();
    CANTILEVER_CHECK(unpacker_ != nullptr, "TIFF: samples of kind ", layout.mode, " (",
                     layout.unpacked, ") are not turned into RGB");
  }

  void decode(uint64_t directory) {
    tiff_ = open_tiff(source_, layout_.width * layout_.height);
    check(tiff_ != nullptr && TIFFSetSubDirectory(tiff(), directory) != 0, "its directory");
    uint32_t width = 0;
    uint32_t height = 0;
    TIFFGetField(tiff(), TIFFTAG_IMAGEWIDTH, &width);
    TIFFGetField(tiff(), TIFFTAG_IMAGELENGTH, &height);
    check(width == layout_.width && height == layout_.height, "its size");
    unpack_with_zlib();
    if (is_read_as_rgba()) {
      decode_as_rgba();
      return;
    }
    choose_planes();
    if (TIFFIsTiled(tiff()) != 0) {
      decode_tiles();
    } else {
      decode_strips();
    }
    if (planes_) planes_->to_rgb(layout_.mode, is_premultiplied(), layout_.palette, image_.pixels);
  }

 private:
  TIFF* tiff() { return tiff_.get(); }

  void check(bool sound, const char* where) const {
    CANTILEVER_CHECK(sound, "TIFF: broken or truncated; ", where, " cannot be read",
                     source_.complaint[0] != '\0' ? ": " : "", source_.complaint);
  }

  // With libdeflate, libtiff 4.5 takes a strip that unpacks to more than its rows for read although
  // nothing may have been written. Pillow's libtiff has none.
  void unpack_with_zlib() {
    uint16_t compression = 0;
    TIFFGetField(tiff(), TIFFTAG_COMPRESSION, &compression);
    if (compression == COMPRESSION_DEFLATE || compression == COMPRESSION_ADOBE_DEFLATE) {
      TIFFSetField(tiff(), TIFFTAG_DEFLATE_SUBCODEC, DEFLATE_SUBCODEC_ZLIB);
    }
  }

  // YCbCr with its subsampling is left to libtiff, of JPEG to libjpeg.
  bool is_read_as_rgba() {
    uint16_t photometric = 0;
    uint16_t compression = 0;
    uint16_t planar = 0;
    TIFFGetField(tiff(), TIFFTAG_PHOTOMETRIC, &photometric);
    TIFFGetField(tiff(), TIFFTAG_COMPRESSION, &compression);
    TIFFGetFieldDefaulted(tiff(), TIFFTAG_PLANARCONFIG, &planar);
    is_planar_ = planar == PLANARCONFIG_SEPARATE;
    if (photometric != PHOTOMETRIC_YCBCR) return false;
    if (compression != COMPRESSION_JPEG || planar != PLANARCONFIG_CONTIG) return true;
    TIFFSetField(tiff(), TIFFTAG_JPEGCOLORMODE, JPEGCOLORMODE_RGB);
    return false;
  }

  void choose_planes() {
    const int bands = Planes::bands(layout_.mode);
    if (!is_planar_ || bands == 1) return;
    uint16_t bits = 8;
    TIFFGetFieldDefaulted(tiff(), TIFFTAG_BITSPERSAMPLE, &bits);
    check(bits == 8 || bits == 16, "planes of such samples");
    sample_bytes_ = bits / 8;
    bands_ = bands;
    planes_ = std::make_unique<Planes>(image_.width, image_.height);
  }

  bool is_premultiplied() {
    if (layout_.mode != "RGBA") return false;
    uint16_t count = 0;
    uint16_t* kinds = nullptr;
    TIFFGetFieldDefaulted(tiff(), TIFFTAG_EXTRASAMPLES, &count, &kinds);
    return count >= 1 &&
           (kinds[0] == EXTRASAMPLE_UNSPECIFIED || kinds[0] == EXTRASAMPLE_ASSOCALPHA);
  }

  // What write_row() reads.
  int64_t bytes_read(int64_t count) const {
    return planes_ ? count * sample_bytes_ : unpacker_->row_bytes(count);
  }

  void write_row(const uint8_t* row, int band, int64_t x, int64_t y, int64_t count) {
    const auto at = static_cast<size_t>(y * layout_.width + x);
    if (planes_) {
      // The high byte of a sample in native order.
      planes_->write(band, at, row + sample_bytes_ - 1, static_cast<size_t>(sample_bytes_),
                     static_cast<size_t>(count));
    } else {
      unpacker_->to_rgb(row, static_cast<int>(count), layout_.palette,
                        image_.pixels.data() + at * 3);
    }
  }

  // Memory for all rows above `bottom`.
  void make_rows(int64_t bottom) {
    if (planes_) return;
    const auto row = static_cast<size_t>(layout_.width) * 3;
    grow_pixels(image_.pixels, row * static_cast<size_t>(std::min(bottom, layout_.height)),
                row * static_cast<size_t>(layout_.height));
  }

  void decode_strips() {
    uint32_t stored = 0;
    const bool has_rows = TIFFGetField(tiff(), TIFFTAG_ROWSPERSTRIP, &stored) == 1;
    const int64_t rows = has_rows && stored != UINT32_MAX ? stored : layout_.height;
    const int64_t size = TIFFStripSize(tiff());
    const int64_t row = TIFFScanlineSize(tiff());
    const int64_t unpacked = (layout_.width * unpacker_->bits / bands_ + 7) / 8;
    check(rows > 0 && rows <= INT32_MAX && size > 0 && size < INT32_MAX, "strips of that size");
    check(size <= unpacked * rows && row > 0 && unpacked <= row, "strips of that layout");
    const Buffer buffer = make_buffer(size);
    for (int64_t y = 0; y < layout_.height; y += rows) {
      const int64_t bottom = std::min(y + rows, layout_.height);
      for (int band = 0; band < bands_; ++band) {
        const uint32_t strip =
            TIFFComputeStrip(tiff(), static_cast<uint32_t>(y), static_cast<uint16_t>(band));
        const int64_t got = TIFFReadEncodedStrip(tiff(), strip, buffer.get(), size);
        check(got >= 0, "a strip");
        make_rows(bottom);
        for (int64_t i = y; i < bottom; ++i) {
          if ((i - y) * row + bytes_read(layout_.width) > size) break;
          write_row(buffer.get() + (i - y) * row, band, 0, i, layout_.width);
        }
      }
    }
  }

  void decode_tiles() {
    uint32_t tile_width = 0;
    uint32_t tile_height = 0;
    TIFFGetField(tiff(), TIFFTAG_TILEWIDTH, &tile_width);
    TIFFGetField(tiff(), TIFFTAG_TILELENGTH, &tile_height);
    const int64_t width = tile_width;
    const int64_t height = tile_height;
    const int64_t size = TIFFTileSize(tiff());
    const int64_t row = TIFFTileRowSize(tiff());
    check(size > 0 && size < INT32_MAX && row > 0 && row <= size && width > 0 && height > 0 &&
              width <= INT32_MAX && height <= INT32_MAX,
          "tiles of that size");
    check(size <= (height * unpacker_->bits / bands_ + 7) / 8 * width, "tiles of that layout");
    const Buffer buffer = make_buffer(size);
    for (int64_t y = 0; y < layout_.height; y += height) {
      for (int band = 0; band < bands_; ++band) {
        for (int64_t x = 0; x < layout_.width; x += width) {
          const int64_t got =
              TIFFReadTile(tiff(), buffer.get(), static_cast<uint32_t>(x), static_cast<uint32_t>(y),
                           0, static_cast<uint16_t>(band));
          check(got >= 0, "a tile");
          make_rows(y + height);
          write_tile(buffer.get(), band, x, y, std::min(width, layout_.width - x),
                     std::min(height, layout_.height - y), row, size);
        }
      }
    }
  }

  void write_tile(const uint8_t* tile, int band, int64_t x, int64_t y, int64_t width,
                  int64_t height, int64_t row, int64_t size) {
    for (int64_t i = 0; i < height; ++i) {
      if (i * row + bytes_read(width) > size) break;
      write_row(tile + i * row, band, x, y + i, width);
    }
  }

  // In this mode libtiff shows black where data is missing and calls it read.
  void check_plausible() const {
    constexpr int64_t kSmallEnough = (int64_t{64} << 20U) / 3;
    constexpr int64_t kBestRatio = 4096;  // pixels a byte; deflate packs 1032 to 1
    const int64_t pixels = layout_.width * layout_.height;
    CANTILEVER_CHECK(
        pixels <= kSmallEnough || pixels / kBestRatio <= static_cast<int64_t>(source_.size),
        "TIFF: truncated or broken; ", source_.size, " bytes cannot hold the ", layout_.width,
        " x ", layout_.height, " pixels its header declares");
  }

  void decode_as_rgba() {
    uint32_t rows = 0;
    const ttag_t tag = TIFFIsTiled(tiff()) != 0 ? TIFFTAG_TILELENGTH : TIFFTAG_ROWSPERSTRIP;
    if (TIFFGetFieldDefaulted(tiff(), tag, &rows) != 1 || rows == UINT32_MAX) {
      rows = static_cast<uint32_t>(layout_.height);
    }
    char message[1024] = "";
    TIFFRGBAImage reader = {};
    const bool begun = TIFFRGBAImageOK(tiff(), message) != 0 &&
                       TIFFRGBAImageBegin(&reader, tiff(), 0, message) != 0;
    CANTILEVER_CHECK(begun, "TIFF: broken or not readable: ", message);
    const std::unique_ptr<TIFFRGBAImage, void (*)(TIFFRGBAImage*)> end(&reader, TIFFRGBAImageEnd);
    check(reader.width == layout_.width && reader.height == layout_.height, "its size");
    const int64_t row = layout_.width * 4;
    check(bytes_read(layout_.width) <= row, "YCbCr of that layout");
    check(rows > 0 && INT32_MAX / row >= static_cast<int64_t>(rows), "strips of that size");
    reader.req_orientation = ORIENTATION_TOPLEFT;
    check_plausible();
    const Buffer buffer = make_buffer(row * rows);
    for (int64_t y = 0; y < layout_.height; y += rows) {
      reader.row_offset = static_cast<int>(y);
      reader.col_offset = 0;
      const int64_t count = std::min<int64_t>(rows, layout_.height - y);
      const int got = TIFFRGBAImageGet(&reader, reinterpret_cast<uint32_t*>(buffer.get()),
                                       reader.width, static_cast<uint32_t>(count));
      check(got != 0, "a strip");
      make_rows(y + count);
      for (int64_t i = 0; i < count; ++i) {
        write_row(buffer.get() + i * row, 0, 0, y + i, layout_.width);
      }
    }
  }

  const TiffLayout& layout_;
  DecodedImage& image_;
  const RawLayout* unpacker_;
  Source source_;
  TiffPointer tiff_;
  bool is_planar_ = false;
  std::unique_ptr<Planes> planes_;
  int bands_ = 1;  // planes to read one after the other
  int sample_bytes_ = 1;
};

}  // namespace

void decode_compressed_tiff(std::span<const std::byte> encoded, uint64_t directory,
                            const TiffLayout& layout, DecodedImage& image) {
  Decoder(encoded, layout, image).decode(directory);
}

}  // namespace cantilever
