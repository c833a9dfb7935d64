#pragma once

#include <array>
#include <vector>

#include "cantilever/data/image/picture_plan.h"
#include "cantilever/data/image/resample.h"
#include "cantilever/data/image/transform.h"

namespace cantilever {

// The normalised levels of the last options.
class LevelTableCache {
 public:
  const std::array<LevelTable, 3>& get(const TransformOptions& options);

 private:
  bool filled_ = false;
  bool fused_ = false;
  std::array<float, 3> mean_ = {};
  std::array<float, 3> std_ = {};
  std::array<LevelTable, 3> tables_;
};

struct TransformScratch::State {
  ResampleAxisCache axes;
  ResampleBuffers buffers;
  LevelTableCache tables;
  ImageDecoder decoder;
  AlignedBuffer whole;    // a stored picture that has to be turned
  AlignedBuffer turned;   // some rows of it, turned
  AlignedBuffer colours;  // a resampled picture whose colours are changed
};

// `tables` must outlive the sink.
PictureSink make_sink(const TransformOptions& options, const PixelPlace& out,
                      LevelTableCache& tables);
// The sink of pixels that are not normalised yet: float32 0..1, or uint8 for whole levels.
PictureSink make_raw_sink(const TransformOptions& options, void* data);

// The axes stay valid until the next pictures' are asked for.
ResampledSides find_sides(const PicturePlan& plan, ResampleAxisCache& axes);

}  // namespace cantilever
