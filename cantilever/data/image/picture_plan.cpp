#include "cantilever/data/image/picture_plan.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "cantilever/base/error.h"

namespace cantilever {
namespace {

ResampleFilter filter_of(PixelSemantics semantics) {
  switch (semantics) {
    case PixelSemantics::kTvFloatAa:
    case PixelSemantics::kTvU8:
      return ResampleFilter::kTorchFloat;
    case PixelSemantics::kTvFloatNoaa:
      return ResampleFilter::kTorchFloatNoaa;
    case PixelSemantics::kPilU8:
      return ResampleFilter::kPillow;
    case PixelSemantics::kHfProcessor:
      return ResampleFilter::kTorchLevels;
    case PixelSemantics::kReference:
      break;
  }
  CANTILEVER_ASSERT(false,
                    "resolve() makes the semantics concrete before pictures are transformed");
}

void check(int width, int height, const TransformOptions& options) {
  CANTILEVER_CHECK(width > 0 && height > 0, "a picture of ", width, " x ", height,
                   " pixels cannot be resized");
  constexpr int kMaxSide = 16384;
  CANTILEVER_CHECK(options.side > 0 && options.side <= kMaxSide, "image side ", options.side,
                   " is outside 1..", kMaxSide);
}

// Pillow 13 resizes vertically first where the height shrinks by more than twice what the width
// does, in pixels (found by comparing both orders over random sizes); both passes round, so the
// order shows.
bool pillow_order(const ResampleWindow& columns, const ResampleWindow& rows) {
  return rows.out < rows.in && rows.in - rows.out > 2 * (columns.in - columns.out);
}

PicturePlan with_order(PicturePlan plan, const TransformOptions& options) {
  plan.vertical_first = options.semantics == PixelSemantics::kPilU8 &&
                        pillow_order(plan.columns.window, plan.rows.window);
  return plan;
}

// torchvision's Resize([S]): the shorter side becomes S, the longer int(S * long / short).
int64_t resized_length(int64_t length, int64_t shorter, int64_t side) {
  if (length == shorter) return side;
  return static_cast<int64_t>(static_cast<double>(side * length) / static_cast<double>(shorter));
}

// Of a side resized to `length`, the S samples that the centre crop keeps. The offset is
// round((length - S) / 2) with halves to even, torchvision's CenterCrop; length >= S always, since
// S is the length of the shorter side.
PlannedSide cropped_side(int64_t in, int64_t length, int64_t side, ResampleFilter filter) {
  const auto first = static_cast<int64_t>(std::nearbyint(static_cast<double>(length - side) / 2.0));
  return {{in, length, first, side, filter}, 0, 0};
}

// Transformers' get_resize_output_image_size: the shorter side S, the longer at most 1333/800 S
// (then the shorter gets smaller), both rounded and cut down to multiples of 32. {height, width}.
std::array<int64_t, 2> processor_size(int width, int height, int side) {
  constexpr double kDivisor = 32;
  const double longest = static_cast<int>(1333.0 / 800.0 * side);
  double scale = static_cast<double>(side) / std::min(width, height);
  double new_height = height < width ? side : scale * height;
  double new_width = height < width ? scale * width : side;
  if (std::max(new_height, new_width) > longest) {
    scale = longest / std::max(new_height, new_width);
    new_height *= scale;
    new_width *= scale;
  }
  const auto cut = [](double length) {
    return static_cast<int64_t>(std::floor(std::floor(length + 0.5) / kDivisor) * kDivisor);
  };
  return {cut(new_height), cut(new_width)};
}

// Transformers' center_crop: a side that is too short gets zeros on both ends, the odd one behind;
// the offset of a longer one is cut off, not rounded.
PlannedSide processor_side(int64_t in, int64_t length, int64_t side) {
  const int64_t missing = std::max<int64_t>(side - length, 0);
  const int64_t surplus = std::max<int64_t>(length - side, 0);
  return {{in, length, surplus / 2, std::min(length, side), ResampleFilter::kTorchLevels},
          missing / 2,
          missing - missing / 2};
}

PicturePlan plan_processor(int width, int height, const TransformOptions& options) {
  const auto [new_height, new_width] = processor_size(width, height, options.side);
  CANTILEVER_CHECK(new_height > 0 && new_width > 0, "a picture of ", width, " x ", height,
                   " pixels is too narrow for hf-processor at side ", options.side,
                   ": it would be resized to ", new_width, " x ", new_height,
                   ", as Transformers' processor does and then refuses it");
  PicturePlan plan;
  plan.columns = processor_side(width, new_width, options.side);
  plan.rows = processor_side(height, new_height, options.side);
  return plan;
}

}  // namespace

PicturePlan plan_picture(int width, int height, const TransformOptions& options) {
  check(width, height, options);
  if (options.semantics == PixelSemantics::kHfProcessor) {
    return plan_processor(width, height, options);
  }
  const ResampleFilter filter = filter_of(options.semantics);
  const int64_t side = options.side;
  const int64_t shorter = std::min(width, height);
  PicturePlan plan;
  plan.columns = cropped_side(width, resized_length(width, shorter, side), side, filter);
  plan.rows = cropped_side(height, resized_length(height, shorter, side), side, filter);
  return with_order(plan, options);
}

PicturePlan plan_crop(const ImageWindow& crop, const TransformOptions& options) {
  const int width = crop.right - crop.left;
  const int height = crop.bottom - crop.top;
  check(width, height, options);
  const ResampleFilter filter = filter_of(options.semantics);
  const int64_t side = options.side;
  PicturePlan plan;
  plan.left = crop.left;
  plan.top = crop.top;
  plan.columns.window = {width, side, 0, side, filter};
  plan.rows.window = {height, side, 0, side, filter};
  return with_order(plan, options);
}

}  // namespace cantilever
