#include <algorithm>
#include <array>
#include <map>
#include <tuple>
#include <vector>

#include "cantilever/base/error.h"
#include "cantilever/data/image/exif.h"
#include "cantilever/data/image/limits.h"
#include "cantilever/data/image/planes.h"
#include "cantilever/data/image/tiff.h"
#include "cantilever/data/image/tiff_codec.h"
#include "cantilever/data/image/tiff_layout.h"

namespace cantilever {
namespace {

enum Tag : uint32_t {
  kStripOffsets = 273,
  kRowsPerStrip = 278,
  kTileWidth = 322,
  kTileLength = 323,
  kTileOffsets = 324,
};

// A rectangle of the picture whose rows lie one after the other in the file.
struct Tile {
  int64_t left = 0;
  int64_t top = 0;
  int64_t right = 0;
  int64_t bottom = 0;
  size_t layer = 0;
  int64_t offset = 0;
  int64_t stride = 0;  // 0: rows touch

  auto place() const { return std::tie(top, left, layer); }
};

struct Layer {
  const RawLayout* layout = nullptr;  // of pixels
  int band = -1;                      // of samples, a byte each
  int bits = 8;
};

// Uncompressed data. Pillow reads it without libtiff; its walk over strips, tiles and layers is
// repeated here.
class RawReader {
 public:
  RawReader(std::span<const std::byte> file, const TiffDirectory& directory,
            const TiffLayout& layout, DecodedImage& image)
      : file_(file), directory_(directory), layout_(layout), image_(image) {}

  void decode() {
    std::vector<Tile> tiles = list_tiles();
    CANTILEVER_CHECK(!tiles.empty(), "TIFF: its directory names no picture data");
    choose_layers(tiles);
    for (Tile& tile : tiles) check_tile(tile);
    check_plausible();
    std::stable_sort(tiles.begin(), tiles.end(),
                     [](const Tile& a, const Tile& b) { return a.offset < b.offset; });
    keep_last(tiles);
    if (is_in_bands()) {
      decode_planes(tiles);
    } else {
      decode_pixels(tiles);
    }
  }

 private:
  struct Grid {
    std::vector<int64_t> offsets;
    int64_t width = 0;  // of a tile
    int64_t height = 0;
  };

  Grid read_grid() const {
    Grid grid;
    if (directory_.has(kStripOffsets)) {
      grid.offsets = *directory_.numbers(kStripOffsets);
      grid.width = layout_.width;
      grid.height = directory_.number(kRowsPerStrip).value_or(layout_.height);
    } else {
      const auto offsets = directory_.numbers(kTileOffsets);
      CANTILEVER_CHECK(offsets.has_value(), "TIFF: its directory names no picture data");
      grid.offsets = *offsets;
      grid.width = directory_.number(kTileWidth).value_or(0);
      grid.height = directory_.number(kTileLength).value_or(0);
    }
    CANTILEVER_CHECK(grid.width > 0 && grid.height > 0, "TIFF: tiles of ", grid.width, " x ",
                     grid.height, " pixels");
    return grid;
  }

  std::vector<Tile> list_tiles() const {
    const Grid grid = read_grid();
    const bool is_one = grid.width == layout_.width && grid.height == layout_.height;
    // Of several tiles that each cover the picture the last one counts.
    const size_t first = is_one && !layout_.is_planar ? grid.offsets.size() - 1 : 0;
    std::vector<Tile> tiles;
    Tile next;
    for (size_t i = first; i < grid.offsets.size(); ++i) {
      next.offset = grid.offsets[i];
      next.right = std::min(next.left + grid.width, layout_.width);
      next.bottom = std::min(next.top + grid.height, layout_.height);
      const bool hangs_over = next.left + grid.width > layout_.width;
      next.stride = hangs_over ? grid.width * layout_.bits_per_pixel / 8 : 0;
      if (layout_.is_planar) {
        const int64_t bits = hangs_over ? grid.width * layout_.bits_per_pixel : 0;
        next.stride = bits / (8 * layout_.bands);
      }
      tiles.push_back(next);
      next.left += grid.width;
      if (next.left < layout_.width) continue;
      next.left = 0;
      next.top += grid.height;
      if (next.top < layout_.height) continue;
      next.top = 0;
      ++next.layer;
    }
    return tiles;
  }

  bool is_in_bands() const { return layout_.is_planar && Planes::bands(layout_.mode) > 1; }

  // In planes, the raw mode of a layer is the letter that stands for it in that of the picture.
  void choose_layers(const std::vector<Tile>& tiles) {
    const size_t count = layout_.is_planar ? tiles.back().layer + 1 : 1;
    CANTILEVER_CHECK(count <= layout_.raw_mode.size(), "TIFF: it has data of more planes than ",
                     layout_.raw_mode.size());
    for (size_t i = 0; i < count; ++i) {
      const std::string_view name =
          layout_.is_planar ? layout_.raw_mode.substr(i, 1) : layout_.raw_mode;
      Layer layer;
      if (is_in_bands()) {
        layer.band = Planes::band_of(layout_.mode, name);
      } else {
        layer.layout = find_raw_layout(layout_.mode, name);
        if (layer.layout != nullptr) layer.bits = layer.layout->bits;
      }
      CANTILEVER_CHECK(layer.layout != nullptr || layer.band >= 0, "TIFF: samples of kind ",
                       layout_.mode, " (", layout_.raw_mode, layout_.is_planar ? ", in planes" : "",
                       ") are not turned into RGB");
      layers_.push_back(layer);
    }
  }

  const Layer& layer_of(const Tile& tile) const {
    return layers_[layout_.is_planar ? tile.layer : 0];
  }

  // Sets the stride where rows touch.
  void check_tile(Tile& tile) const {
    const int64_t row = ((tile.right - tile.left) * layer_of(tile).bits + 7) / 8;
    if (tile.stride == 0) tile.stride = row;
    CANTILEVER_CHECK(tile.stride >= row, "TIFF: broken; rows of ", tile.stride,
                     " bytes cannot hold ", tile.right - tile.left, " pixels");
    const auto size = static_cast<int64_t>(file_.size());
    const int64_t left = size - std::clamp<int64_t>(tile.offset, 0, size);
    const int64_t rows = tile.bottom - tile.top;
    CANTILEVER_CHECK(tile.offset >= 0 && left >= row && (left - row) / tile.stride >= rows - 1,
                     "TIFF: truncated; the picture data at byte ", tile.offset, " needs ",
                     (rows - 1) * tile.stride + row, " bytes, the file has ", left);
  }

  // Pillow shows a large black picture where a few strips are given; for the memory of it the file
  // must be in proportion.
  void check_plausible() const {
    constexpr int64_t kSmallEnough = int64_t{64} << 20U;
    const int64_t pixels = layout_.width * layout_.height;
    const int64_t stored = pixels * layers_[0].bits / 8;
    CANTILEVER_CHECK(pixels * 3 <= kSmallEnough || stored <= static_cast<int64_t>(file_.size()),
                     "TIFF: truncated or broken; ", file_.size(), " bytes cannot hold the ",
                     layout_.width, " x ", layout_.height, " pixels its header declares");
  }

  // Where several tiles have one place, the last one in the file shows.
  void keep_last(std::vector<Tile>& tiles) const {
    std::map<std::tuple<int64_t, int64_t, size_t>, size_t> last;
    for (size_t i = 0; i < tiles.size(); ++i) {
      if (!layout_.is_planar) tiles[i].layer = 0;
      last[tiles[i].place()] = i;
    }
    std::vector<Tile> kept;
    for (const auto& [place, index] : last) kept.push_back(tiles[index]);
    tiles = std::move(kept);
  }

  const uint8_t* row_of(const Tile& tile, int64_t y) const {
    return reinterpret_cast<const uint8_t*>(file_.data()) + tile.offset +
           (y - tile.top) * tile.stride;
  }

  size_t pixel_at(const Tile& tile, int64_t y) const {
    return static_cast<size_t>(y * layout_.width + tile.left);
  }

  void decode_pixels(const std::vector<Tile>& tiles) {
    const auto pixels = static_cast<size_t>(layout_.width * layout_.height);
    image_.pixels.resize(pixels * 3);
    const std::array<uint8_t, 3> blank = blank_pixel(layout_.mode, layout_.palette);
    if (blank != std::array<uint8_t, 3>{}) {
      for (size_t i = 0; i < pixels; ++i) {
        std::copy(blank.begin(), blank.end(),
                  image_.pixels.begin() + static_cast<ptrdiff_t>(i * 3));
      }
    }
    for (const Tile& tile : tiles) {
      for (int64_t y = tile.top; y < tile.bottom; ++y) {
        layer_of(tile).layout->to_rgb(row_of(tile, y), static_cast<int>(tile.right - tile.left),
                                      layout_.palette,
                                      image_.pixels.data() + pixel_at(tile, y) * 3);
      }
    }
  }

  void decode_planes(const std::vector<Tile>& tiles) {
    Planes planes(image_.width, image_.height);
    for (const Tile& tile : tiles) {
      for (int64_t y = tile.top; y < tile.bottom; ++y) {
        planes.write(layer_of(tile).band, pixel_at(tile, y), row_of(tile, y), 1,
                     static_cast<size_t>(tile.right - tile.left));
      }
    }
    planes.to_rgb(layout_.mode, false, layout_.palette, image_.pixels);
  }

  std::span<const std::byte> file_;
  const TiffDirectory& directory_;
  const TiffLayout& layout_;
  DecodedImage& image_;
  std::vector<Layer> layers_;  // one where there are no planes
};

}  // namespace

DecodedImage decode_tiff(std::span<const std::byte> encoded, const DecodeOptions& options) {
  const TiffDirectory directory(encoded);
  const TiffLayout layout = read_tiff_layout(directory);
  check_picture_size("TIFF", layout.width, layout.height, options);
  DecodedImage image;
  image.format = "TIFF";
  image.mode = layout.mode;
  image.width = static_cast<int>(layout.width);
  image.height = static_cast<int>(layout.height);
  if (layout.is_compressed()) {
    decode_compressed_tiff(encoded, directory.offset(), layout, image);
  } else {
    RawReader(encoded, directory, layout, image).decode();
  }
  apply_orientation(directory.orientation(), image);
  return image;
}

}  // namespace cantilever
