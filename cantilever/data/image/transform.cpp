#include "cantilever/data/image/transform.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <iterator>

#include "cantilever/base/error.h"
#include "cantilever/data/image/resample.h"

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
    case PixelSemantics::kTvFloatNoaa:
      return "tv-float-noaa";
    case PixelSemantics::kTvU8:
      return "tv-u8";
    case PixelSemantics::kPilU8:
      return "pil-u8";
    case PixelSemantics::kHfProcessor:
      return "hf-processor";
  }
  CANTILEVER_ASSERT(false, "a pixel semantics without a name");
}

bool has_whole_levels(PixelSemantics semantics) {
  return semantics == PixelSemantics::kTvU8 || semantics == PixelSemantics::kPilU8 ||
         semantics == PixelSemantics::kHfProcessor;
}

PixelSemantics resolve(PixelSemantics semantics, bool image_given_as_path) {
  if (semantics != PixelSemantics::kReference) return semantics;
  return image_given_as_path ? PixelSemantics::kTvU8 : PixelSemantics::kTvFloatAa;
}

struct TransformScratch::State {
  ResampleAxisCache axes;
  ResampleBuffers buffers;
};

TransformScratch::TransformScratch() : state_(std::make_unique<State>()) {}
TransformScratch::~TransformScratch() = default;

namespace {

// torchvision for a float tensor.
void normalise(const float* values, int64_t count, float mean, float std, float* out) {
  for (int64_t x = 0; x < count; ++x) out[x] = (values[x] - mean) / std;
}

// torchvision for a uint8 tensor: clamped, rounded with halves to even, and only then 0..1.
void round_and_normalise(const float* values, int64_t count, const Levels& finished, float* out) {
  // A float32 of this size has no bits left behind the point: the addition rounds, halves to even.
  constexpr float kShift = 8388608.0F;  // 2^23
  for (int64_t x = 0; x < count; ++x) {
    const float shifted = std::clamp(values[x], 0.0F, 255.0F) + kShift;
    out[x] = finished[static_cast<size_t>(shifted - kShift)];
  }
}

std::array<Levels, 3> finished_levels(const TransformOptions& options) {
  std::array<Levels, 3> finished;
  for (size_t c = 0; c < 3; ++c) {
    const Levels& fractions = cached_source_levels(PixelSemantics::kTvFloatAa);
    normalise(fractions.data(), 256, options.mean[c], options.std[c], finished[c].data());
  }
  return finished;
}

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
  const int64_t side = options.side;
  CANTILEVER_ASSERT(std::ssize(out) == 3 * side * side, "room for ", out.size(), " values, side ",
                    side);
  TransformScratch::State& state = scratch.state();
  const int64_t shorter = std::min(image.width, image.height);
  const auto axis = [&](int64_t length) -> const ResampleAxis& {
    return state.axes.get(cropped_side(length, resized_length(length, shorter, side), side));
  };
  const ResampleAxis& columns = axis(image.width);
  const ResampleAxis& rows = axis(image.height);
  RowResampler resampler(image, cached_source_levels(options.semantics), columns, rows,
                         state.buffers);
  const bool rounds = options.semantics == PixelSemantics::kTvU8;
  const std::array<Levels, 3> finished = finished_levels(options);
  for (int64_t y = 0; y < side; ++y) {
    const float* row = resampler.row(y);
    for (size_t c = 0; c < 3; ++c) {
      const float* from = row + static_cast<int64_t>(c) * side;
      float* to = out.data() + (static_cast<int64_t>(c) * side + y) * side;
      if (rounds) {
        round_and_normalise(from, side, finished[c], to);
      } else {
        normalise(from, side, options.mean[c], options.std[c], to);
      }
    }
  }
}

}  // namespace cantilever
