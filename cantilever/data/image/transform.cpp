#include "cantilever/data/image/transform.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <vector>

#include "cantilever/base/error.h"
#include "cantilever/data/image/resample_axis.h"
#include "cantilever/data/image/resample_kernels.h"

namespace cantilever {
namespace {

using Levels = std::array<float, 256>;

// The value of each byte before resampling: 0..1 as to_tensor makes it, or the byte itself, which
// is what torchvision resamples for a uint8 tensor.
Levels source_levels(PixelSemantics semantics) {
  Levels levels;
  for (size_t i = 0; i < levels.size(); ++i) {
    const auto value = static_cast<float>(i);
    levels[i] = semantics == PixelSemantics::kTvU8 ? value : value / 255.0F;
  }
  return levels;
}

const Levels& cached_source_levels(PixelSemantics semantics) {
  static const Levels bytes = source_levels(PixelSemantics::kTvU8);
  static const Levels fractions = source_levels(PixelSemantics::kTvFloatAa);
  return semantics == PixelSemantics::kTvU8 ? bytes : fractions;
}

// Of a side resized to `length`, the S samples that the centre crop keeps. The offset is
// round((length - S) / 2) with halves to even, torchvision's CenterCrop; length >= S always, since
// S is the length of the shorter side.
ResampleWindow cropped_side(int64_t in, int64_t length, int64_t side) {
  const auto first = static_cast<int64_t>(std::nearbyint(static_cast<double>(length - side) / 2.0));
  return {in, length, first, side};
}

// torchvision's Resize([S]): the shorter side becomes S, the longer int(S * long / short).
int64_t resized_length(int64_t length, int64_t shorter, int64_t side) {
  if (length == shorter) return side;
  return static_cast<int64_t>(static_cast<double>(side * length) / static_cast<double>(shorter));
}

}  // namespace

PixelSemantics parse_pixel_semantics(const std::string& name) {
  for (const PixelSemantics semantics :
       {PixelSemantics::kReference, PixelSemantics::kTvFloatAa, PixelSemantics::kTvU8}) {
    if (name == pixel_semantics_name(semantics)) return semantics;
  }
  throw_error(concat("pixel semantics ", quoted(name),
                     " is unknown; reference, tv-float-aa and tv-u8 are known"));
}

const char* pixel_semantics_name(PixelSemantics semantics) {
  switch (semantics) {
    case PixelSemantics::kReference:
      return "reference";
    case PixelSemantics::kTvFloatAa:
      return "tv-float-aa";
    case PixelSemantics::kTvU8:
      return "tv-u8";
  }
  CANTILEVER_ASSERT(false, "a pixel semantics without a name");
}

PixelSemantics resolve(PixelSemantics semantics, bool image_given_as_path) {
  if (semantics != PixelSemantics::kReference) return semantics;
  return image_given_as_path ? PixelSemantics::kTvU8 : PixelSemantics::kTvFloatAa;
}

struct TransformScratch::State {
  ResampleAxisCache axes;
  std::vector<float> tile;         // a block of source rows
  std::vector<float> ring;         // horizontally resampled rows [ring_rows, 3, S]
  std::vector<const float*> taps;  // the rows of one output row
  std::vector<float> row;          // one output row [3, S]
  std::array<std::array<float, 256>, 3> finished_levels;  // kTvU8: byte to normalised value
};

TransformScratch::TransformScratch() : state_(std::make_unique<State>()) {}
TransformScratch::~TransformScratch() = default;

namespace {

// One picture on its way through the two passes. Rows of the source are resampled horizontally in
// blocks when an output row first needs them, and kept in a ring just long enough for the vertical
// pass: memory does not grow with the height of the picture.
class Transform {
 public:
  Transform(const ImageView& image, const TransformOptions& options, TransformScratch::State& state,
            std::span<float> out)
      : image_(image),
        options_(options),
        state_(state),
        out_(out),
        kernels_(resample_kernels()),
        side_(options.side),
        levels_(cached_source_levels(options.semantics)) {
    const int64_t shorter = std::min(image.width, image.height);
    columns_ = &state.axes.get(
        cropped_side(image.width, resized_length(image.width, shorter, side_), side_));
    rows_ = &state.axes.get(
        cropped_side(image.height, resized_length(image.height, shorter, side_), side_));
    source_columns_ = columns_->source_end - columns_->source_first;
    ring_rows_ = rows_->longest + 2 * kRowsPerBlock;
    next_source_row_ = rows_->source_first;
    grow(state.tile, source_columns_ * 3 * kRowsPerBlock);
    grow(state.ring, ring_rows_ * 3 * side_);
    grow(state.row, 3 * side_);
    if (state.taps.size() < static_cast<size_t>(rows_->longest)) {
      state.taps.resize(static_cast<size_t>(rows_->longest));
    }
    if (options.semantics == PixelSemantics::kTvU8) compute_finished_levels();
  }

  void run() {
    for (int64_t y = 0; y < side_; ++y) {
      const auto index = static_cast<size_t>(y);
      const int64_t first = rows_->start[index];
      const int length = rows_->length[index];
      while (next_source_row_ < first + length) resample_block();
      for (int j = 0; j < length; ++j) {
        state_.taps[static_cast<size_t>(j)] = ring_row(first + j);
      }
      const float* resampled = state_.taps[0];
      if (!rows_->is_copy) {
        kernels_.vertical(state_.taps.data(), rows_->weights.data() + y * rows_->taps, length,
                          3 * side_, state_.row.data());
        resampled = state_.row.data();
      }
      finish_row(resampled, y);
    }
  }

 private:
  static void grow(std::vector<float>& buffer, int64_t size) {
    if (buffer.size() < static_cast<size_t>(size)) buffer.resize(static_cast<size_t>(size));
  }

  float* ring_row(int64_t source_row) {
    return state_.ring.data() + source_row % ring_rows_ * 3 * side_;
  }

  // The next eight source rows; at the lower edge of the picture the last one fills up the block.
  void resample_block() {
    std::array<const uint8_t*, kRowsPerBlock> source;
    std::array<float*, kRowsPerBlock> target;
    for (size_t r = 0; r < kRowsPerBlock; ++r) {
      const int64_t row = next_source_row_ + static_cast<int64_t>(r);
      const int64_t held = std::min<int64_t>(row, image_.height - 1);
      source[r] = image_.pixels + (held * image_.width + columns_->source_first) * 3;
      target[r] = ring_row(row);
    }
    kernels_.fill_tile(source, source_columns_ * 3, levels_, state_.tile.data());
    kernels_.horizontal(*columns_, state_.tile.data(), target);
    next_source_row_ += kRowsPerBlock;
  }

  // torchvision for a uint8 tensor: clamped, rounded with halves to even, and only then 0..1.
  void compute_finished_levels() {
    for (size_t c = 0; c < 3; ++c) {
      for (size_t i = 0; i < 256; ++i) {
        const float fraction = static_cast<float>(i) / 255.0F;
        state_.finished_levels[c][i] = (fraction - options_.mean[c]) / options_.std[c];
      }
    }
  }

  void finish_row(const float* resampled, int64_t y) {
    for (size_t c = 0; c < 3; ++c) {
      const float* from = resampled + static_cast<int64_t>(c) * side_;
      float* to = out_.data() + (static_cast<int64_t>(c) * side_ + y) * side_;
      if (options_.semantics == PixelSemantics::kTvU8) {
        const Levels& levels = state_.finished_levels[c];
        for (int64_t x = 0; x < side_; ++x) {
          const float level = std::nearbyint(std::clamp(from[x], 0.0F, 255.0F));
          to[x] = levels[static_cast<size_t>(level)];
        }
      } else {
        const float mean = options_.mean[c];
        const float std = options_.std[c];
        for (int64_t x = 0; x < side_; ++x) to[x] = (from[x] - mean) / std;
      }
    }
  }

  const ImageView& image_;
  const TransformOptions& options_;
  TransformScratch::State& state_;
  std::span<float> out_;
  const ResampleKernels& kernels_;
  int64_t side_;
  const Levels& levels_;
  const ResampleAxis* columns_ = nullptr;
  const ResampleAxis* rows_ = nullptr;
  int64_t source_columns_ = 0;
  int64_t ring_rows_ = 0;
  int64_t next_source_row_ = 0;
};

}  // namespace

void transform_image(const ImageView& image, const TransformOptions& options,
                     TransformScratch& scratch, std::span<float> out) {
  CANTILEVER_CHECK(image.pixels != nullptr && image.width > 0 && image.height > 0, "a picture of ",
                   image.width, " x ", image.height, " pixels cannot be resized");
  constexpr int kMaxSide = 16384;
  CANTILEVER_CHECK(options.side > 0 && options.side <= kMaxSide, "image side ", options.side,
                   " is outside 1..", kMaxSide);
  CANTILEVER_ASSERT(options.semantics != PixelSemantics::kReference,
                    "resolve() makes the semantics concrete before a picture is transformed");
  const auto side = static_cast<size_t>(options.side);
  CANTILEVER_ASSERT(out.size() == 3 * side * side, "room for ", out.size(), " values, side ", side);
  Transform(image, options, scratch.state(), out).run();
}

}  // namespace cantilever
