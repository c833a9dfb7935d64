#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "cantilever/data/image/decode.h"
#include "cantilever/data/image/jpeg_color.h"
#include "cantilever/data/image/jpeg_entropy.h"
#include "cantilever/data/image/jpeg_frame.h"
#include "cantilever/data/image/jpeg_idct.h"

namespace cantilever {

struct JpegKernels {
  bool (*unstuff)(std::span<const uint8_t> stuffed, JpegScan& scan);
  DecodeJpegMcus decode;
  TransformJpegPair transform;
  const JpegColorKernels* color;
};

// The best that the running CPU has, or the portable twins.
const JpegKernels& jpeg_kernels();
const JpegKernels& portable_jpeg_kernels();

// Samples of one component for one row of MCUs, with the row above it and room for one below it.
// Columns count from the left edge of the picture; kMargin more can be written on either side.
class JpegPlane {
 public:
  static constexpr int kMargin = 64;
  void set_size(int width, int rows);
  ptrdiff_t stride() const { return stride_; }
  // `index` from -1 to `rows`.
  uint8_t* row(int index) { return samples_.data() + kMargin + (index + 1) * stride_; }
  void copy_row(int from, int to);

 private:
  std::vector<uint8_t> samples_;
  ptrdiff_t stride_ = 0;
};

// Decodes what a JpegFrame describes, and gives up at the first irregularity of the data: what it
// gave out until then is right all the same. Keeps its memory.
class JpegFast {
 public:
  explicit JpegFast(const JpegKernels& kernels) : kernels_(kernels) {}

  // False: this picture is not for here.
  bool open(std::span<const std::byte> encoded);
  const JpegFrame& frame() const { return frame_; }
  void set_window(const ImageWindow& window);
  // The next rows of the window; nothing: the data is irregular. Valid until the next call.
  std::optional<RowBlock> next_rows();
  // Decodes what is left without its pixels; false: irregular.
  bool finish();

 private:
  bool prepare_tables();
  bool build_tables(const JpegFrameComponent& component, size_t index);
  void prepare_blocks();
  void prepare_planes();
  void prepare_window_rows();
  bool decode_mcu_row(bool wanted);
  bool decode_window_columns();
  void transform_group(std::array<JpegBlockPair, 3>& pairs);
  void extend_edges();
  void emit_rows(int end);
  void emit_row(int y, uint8_t* rgb);
  void keep_last_rows();

  // A table is built anew only where the file has another one than the file before.
  struct Codes {
    std::array<uint8_t, 16 + 256> lengths = {};
    bool is_built = false;
    bool matches(const JpegCodeLengths& other) const;
    void remember(const JpegCodeLengths& other);
  };
  struct Tables {
    Codes dc_codes;
    Codes ac_codes;
    JpegDcTable dc;
    JpegAcTable ac;
  };

  // Where block `index` of a group goes.
  struct BlockTarget {
    size_t component = 0;
    int mcu = 0;     // of the group
    int column = 0;  // of the MCU, in samples of the component
    int row = 0;
    int columns_per_mcu = 8;
  };

  JpegKernels kernels_;
  JpegFrame frame_;
  JpegScan scan_;
  JpegEntropy entropy_;
  std::array<std::unique_ptr<Tables>, 3> tables_;

  int mcus_per_group_ = 1;
  int pairs_per_group_ = 0;
  std::array<BlockTarget, 6> targets_;
  std::array<JpegBlockPlace, 6> places_;               // of the next group to transform
  std::array<std::array<JpegBlockPair, 3>, 2> pairs_;  // of two groups, by turns
  std::array<JpegPairQuantisation, 3> quantisation_;

  std::array<JpegPlane, 3> planes_;
  std::array<std::vector<uint8_t>, 2> chroma_rows_;  // upsampled Cb and Cr of one row
  std::vector<uint8_t> rgb_;
  ptrdiff_t rgb_stride_ = 0;

  ImageWindow window_;
  int first_column_ = 0;  // of MCUs whose samples are wanted
  int end_column_ = 0;
  int first_mcu_row_ = 0;
  int mcu_row_ = 0;   // the next to decode
  int next_row_ = 0;  // the next to give out
};

}  // namespace cantilever
