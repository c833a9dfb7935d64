#include <algorithm>
#include <chrono>
#include <optional>

#include "cantilever/base/error.h"
#include "cantilever/data/image/color_jitter.h"
#include "cantilever/data/image/transform.h"
#include "cantilever/data/image/transform_state.h"
#include "cantilever/data/image/upright.h"

namespace cantilever {
namespace {

using Clock = std::chrono::steady_clock;

// Adds the time since the last call to one stage or another.
class StageClock {
 public:
  explicit StageClock(PictureTimes* times) : times_(times) {
    if (times_ != nullptr) last_ = Clock::now();
  }
  void decoded() { add(&PictureTimes::decode); }
  void transformed() { add(&PictureTimes::transform); }

 private:
  void add(double PictureTimes::* stage) {
    if (times_ == nullptr) return;
    const Clock::time_point now = Clock::now();
    times_->*stage += std::chrono::duration<double>(now - last_).count();
    last_ = now;
  }

  PictureTimes* times_;
  Clock::time_point last_;
};

// Row by row from the decoder into the resampler.
void stream_rows(ImageDecoder& decoder, PictureResampler& resampler, StageClock& clock) {
  const ImageWindow window = resampler.window();
  decoder.set_window(window);
  for (int row = window.top; row < window.bottom;) {
    const RowBlock block = decoder.next_rows();
    clock.decoded();
    CANTILEVER_ASSERT(block.count > 0 && block.first == row, "rows ", block.first, " + ",
                      block.count, " after row ", row);
    resampler.push(block);
    clock.transformed();
    row += block.count;
  }
  decoder.finish();
  clock.decoded();
}

// The whole stored picture first, then its rows as orientation 1 would have them.
void stream_upright_rows(const ImageInfo& info, TransformScratch::State& state,
                         PictureResampler& resampler, StageClock& clock) {
  const ptrdiff_t stride = ptrdiff_t{3} * info.width;
  state.whole.reserve(stride * info.height);
  auto* whole = state.whole.as<uint8_t>();
  for (int row = 0; row < info.height;) {
    const RowBlock block = state.decoder.next_rows();
    for (int r = 0; r < block.count; ++r) {
      std::copy_n(block.pixels + r * block.stride, stride, whole + (row + r) * stride);
    }
    row += block.count;
  }
  state.decoder.finish();
  clock.decoded();
  const UprightRows upright({whole, info.width, info.height}, info.exif_orientation);
  constexpr int kRows = 8;
  const ptrdiff_t upright_stride = ptrdiff_t{3} * upright.width();
  state.turned.reserve(kRows * upright_stride);
  auto* rows = state.turned.as<uint8_t>();
  const ImageWindow window = resampler.window();
  for (int first = window.top; first < window.bottom; first += kRows) {
    const int count = std::min(kRows, window.bottom - first);
    upright.copy(first, count, window.left, window.right, rows);
    resampler.push({rows, upright_stride, first, count});
  }
  constexpr int64_t kKept = int64_t{64} << 20U;  // of every thread; a picture of 22 million pixels
  state.whole.limit(kKept);
  clock.transformed();
}

void mirror_rows(const PictureSink& sink) {
  const int64_t rows = 3 * sink.height;
  const auto mirror = [&](auto* values) {
    for (int64_t y = 0; y < rows; ++y) {
      std::reverse(values + y * sink.width, values + (y + 1) * sink.width);
    }
  };
  switch (sink.type) {
    case PixelType::kFloat32:
      return mirror(static_cast<float*>(sink.data));
    case PixelType::kBfloat16:
      return mirror(static_cast<uint16_t*>(sink.data));
    case PixelType::kUint8:
      return mirror(static_cast<uint8_t*>(sink.data));
  }
}

// Pixels that are not normalised yet to their place.
void finish_raw(const PictureSink& raw, const TransformOptions& options, const PictureSink& sink) {
  const int64_t plane = sink.width * sink.height;
  for (int64_t c = 0; c < 3; ++c) {
    const auto channel = static_cast<size_t>(c);
    std::byte* out = static_cast<std::byte*>(sink.data) +
                     c * plane * static_cast<int64_t>(pixel_bytes(sink.type));
    if (!has_whole_levels(options.semantics)) {
      const float* values = static_cast<const float*>(raw.data) + c * plane;
      finish_floats(sink.finish[channel], values, plane, out);
      continue;
    }
    const uint8_t* levels = static_cast<const uint8_t*>(raw.data) + c * plane;
    if (sink.type == PixelType::kUint8) {
      std::copy_n(levels, plane, reinterpret_cast<uint8_t*>(out));
    } else if (sink.type == PixelType::kFloat32) {
      expand_levels((*sink.tables)[channel], levels, plane, reinterpret_cast<float*>(out));
    } else {
      expand_levels((*sink.tables)[channel], levels, plane, reinterpret_cast<uint16_t*>(out));
    }
  }
}

void change_colours(const AugmentationChoice& choice, const PictureSink& raw) {
  const int64_t plane = raw.width * raw.height;
  if (raw.type == PixelType::kUint8) {
    apply_colour_changes(choice, static_cast<uint8_t*>(raw.data), plane);
  } else {
    apply_colour_changes(choice, static_cast<float*>(raw.data), plane);
  }
}

bool is_transposed(int orientation) {
  return orientation >= 5;
}

}  // namespace

void prepare_picture(std::span<const std::byte> encoded, const DecodeOptions& decode,
                     const TransformOptions& options, const AugmentationDraw* augmentation,
                     TransformScratch& scratch, const PixelPlace& out, PictureTimes* times) {
  TransformScratch::State& state = scratch.state();
  StageClock clock(times);
  DecodeOptions as_stored = decode;
  as_stored.apply_exif_orientation = false;
  const ImageInfo info = state.decoder.open(encoded, as_stored);
  clock.decoded();
  const bool turns = decode.apply_exif_orientation && info.exif_orientation != 1;
  const bool swaps = turns && is_transposed(info.exif_orientation);
  const int width = swaps ? info.height : info.width;
  const int height = swaps ? info.width : info.height;
  AugmentationChoice choice;
  if (augmentation != nullptr) choice = draw_augmentation(*augmentation, width, height);
  const PicturePlan plan = choice.crops
                               ? plan_crop({choice.left, choice.top, choice.left + choice.width,
                                            choice.top + choice.height},
                                           options)
                               : plan_picture(width, height, options);
  const PictureSink sink = make_sink(options, out, state.tables);
  PictureSink target = sink;
  if (choice.changes_colours()) {
    state.colours.reserve(3 * sink.width * sink.height * static_cast<int64_t>(sizeof(float)));
    target = make_raw_sink(options, state.colours.as<void>());
  }
  PictureResampler resampler(find_sides(plan, state.axes), plan.left, plan.top, target,
                             state.buffers);
  if (turns) {
    stream_upright_rows(info, state, resampler, clock);
  } else {
    stream_rows(state.decoder, resampler, clock);
  }
  resampler.finish();
  if (choice.changes_colours()) {
    change_colours(choice, target);
    finish_raw(target, options, sink);
  }
  if (choice.flips) mirror_rows(sink);
  clock.transformed();
}

}  // namespace cantilever
