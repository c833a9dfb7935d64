#include "cantilever/data/image/transform.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstring>
#include <iterator>

#include "cantilever/base/error.h"
#include "cantilever/data/image/transform_state.h"

namespace cantilever {
namespace {

constexpr std::array kAllSemantics = {PixelSemantics::kReference,   PixelSemantics::kTvFloatAa,
                                      PixelSemantics::kTvFloatNoaa, PixelSemantics::kTvU8,
                                      PixelSemantics::kPilU8,       PixelSemantics::kHfProcessor};

}  // namespace

PixelSemantics parse_pixel_semantics(const std::string& name) {
  std::string known;
  for (const PixelSemantics semantics : kAllSemantics) {
    if (name == pixel_semantics_name(semantics)) return semantics;
    known += concat(known.empty() ? "" : ", ", pixel_semantics_name(semantics));
  }
  throw_error(concat("pixel semantics ", quoted(name), " is unknown; known are ", known));
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

PixelType parse_pixel_type(const std::string& name) {
  for (const PixelType type : {PixelType::kFloat32, PixelType::kBfloat16, PixelType::kUint8}) {
    if (name == pixel_type_name(type)) return type;
  }
  throw_error(concat("pixel type ", quoted(name), " is unknown; f32, bf16 and u8 are known"));
}

const char* pixel_type_name(PixelType type) {
  return type == PixelType::kFloat32 ? "f32" : type == PixelType::kBfloat16 ? "bf16" : "u8";
}

size_t pixel_bytes(PixelType type) {
  return type == PixelType::kFloat32 ? 4 : type == PixelType::kBfloat16 ? 2 : 1;
}

TransformScratch::TransformScratch() : state_(std::make_unique<State>()) {}
TransformScratch::~TransformScratch() = default;

const std::array<LevelTable, 3>& LevelTableCache::get(const TransformOptions& options) {
  const bool fused = options.semantics == PixelSemantics::kHfProcessor;
  if (!filled_ || fused != fused_ || mean_ != options.mean || std_ != options.std) {
    for (size_t c = 0; c < 3; ++c) {
      tables_[c] = make_level_table(options.mean[c], options.std[c], fused);
    }
    filled_ = true;
    fused_ = fused;
    mean_ = options.mean;
    std_ = options.std;
  }
  return tables_;
}

PictureSink make_sink(const TransformOptions& options, const PixelPlace& out,
                      LevelTableCache& tables) {
  PictureSink sink = {out.type, out.data, options.side, options.side, true, {}, nullptr};
  sink.divides = options.semantics != PixelSemantics::kTvU8;
  if (has_whole_levels(options.semantics)) {
    sink.finish.fill({FloatForm::kLevels, 0, 1, 1});
    sink.tables = &tables.get(options);
    return sink;
  }
  const FloatForm form = out.type == PixelType::kFloat32    ? FloatForm::kFloat32
                         : out.type == PixelType::kBfloat16 ? FloatForm::kBfloat16
                                                            : FloatForm::kLevels;
  for (size_t c = 0; c < 3; ++c) sink.finish[c] = {form, options.mean[c], options.std[c], 255};
  return sink;
}

PictureSink make_raw_sink(const TransformOptions& options, void* data) {
  const bool whole = has_whole_levels(options.semantics);
  PictureSink sink = {PixelType::kUint8, data, options.side, options.side, true, {}, nullptr};
  if (!whole) sink.type = PixelType::kFloat32;
  sink.divides = options.semantics != PixelSemantics::kTvU8;
  sink.finish.fill({whole ? FloatForm::kLevels : FloatForm::kRaw, 0, 1, 1});
  return sink;
}

ResampledSides find_sides(const PicturePlan& plan, ResampleAxisCache& axes) {
  ResampledSides sides;
  sides.columns = &axes.get(plan.columns.window);
  sides.rows = &axes.get(plan.rows.window);
  sides.columns_before = plan.columns.before;
  sides.rows_before = plan.rows.before;
  sides.vertical_first = plan.vertical_first;
  return sides;
}

void transform_image(const ImageView& image, const TransformOptions& options,
                     TransformScratch& scratch, std::span<float> out) {
  CANTILEVER_CHECK(image.pixels != nullptr, "a picture of ", image.width, " x ", image.height,
                   " pixels cannot be resized");
  const PicturePlan plan = plan_picture(image.width, image.height, options);
  const int64_t side = options.side;
  CANTILEVER_ASSERT(std::ssize(out) == 3 * side * side, "room for ", out.size(), " values, side ",
                    side);
  TransformScratch::State& state = scratch.state();
  const PictureSink sink = make_sink(options, {PixelType::kFloat32, out.data()}, state.tables);
  PictureResampler resampler(find_sides(plan, state.axes), plan.left, plan.top, sink,
                             state.buffers);
  resampler.push({image.pixels, ptrdiff_t{3} * image.width, 0, image.height});
  resampler.finish();
}

void expand_pixels(PixelType type, const void* stored, const TransformOptions& options,
                   std::span<float> out) {
  const auto plane = std::ssize(out) / 3;
  switch (type) {
    case PixelType::kFloat32:
      std::memcpy(out.data(), stored, out.size_bytes());
      return;
    case PixelType::kBfloat16:
      expand_bfloat16(static_cast<const uint16_t*>(stored), std::ssize(out), out.data());
      return;
    case PixelType::kUint8: {
      thread_local LevelTableCache cache;
      const std::array<LevelTable, 3>& tables = cache.get(options);
      for (size_t c = 0; c < 3; ++c) {
        const auto begin = static_cast<ptrdiff_t>(c) * plane;
        expand_levels(tables[c], static_cast<const uint8_t*>(stored) + begin, plane,
                      out.data() + begin);
      }
      return;
    }
  }
}

}  // namespace cantilever
