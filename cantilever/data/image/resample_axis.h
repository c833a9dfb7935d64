#pragma once

#include <cstddef>
#include <cstdint>
#include <list>
#include <vector>

namespace cantilever {

// Whose bicubic weights. The first two are float32 as at::_upsample_bicubic2d_aa (Keys, a = -0.5,
// widened when the picture shrinks) and at::upsample_bicubic2d (a = -0.75, always four taps)
// compute them. The others are whole numbers for bytes: Pillow's, scaled by 2^22 (ImagingResample,
// normalize_coeffs_8bpc), and torch's for uint8, scaled until the largest just fits into 16 bits
// (HelperInterpBase::_compute_index_ranges_int16_weights).
enum class ResampleFilter { kTorchFloat, kTorchFloatNoaa, kPillow, kTorchLevels };

constexpr bool resamples_levels(ResampleFilter filter) {
  return filter == ResampleFilter::kPillow || filter == ResampleFilter::kTorchLevels;
}

// A window of output samples along one side of a picture: `count` of them from `first` on, out of
// the `out` that the whole side would have; `in` source samples.
struct ResampleWindow {
  int64_t in = 0;
  int64_t out = 0;
  int64_t first = 0;
  int64_t count = 0;
  ResampleFilter filter = ResampleFilter::kTorchFloat;

  bool operator==(const ResampleWindow&) const = default;
};

// The weights of one side. float32 filters fill `weights`, the others `whole` and the pairs.
struct ResampleAxis {
  ResampleWindow window;
  int taps = 0;              // distance between the weights of two outputs
  int64_t source_first = 0;  // the source samples used at all: [source_first, source_end)
  int64_t source_end = 0;
  std::vector<int64_t> start;  // [count] first source sample of each output, never decreasing
  std::vector<int> length;     // [count] number of source samples, 1..taps
  int longest = 0;             // largest length
  std::vector<float> weights;  // [count, taps], zero behind the length

  int precision = 0;           // whole weights are scaled by 2^precision
  std::vector<int32_t> whole;  // [count, taps], zero behind the length
  // The same as pairs of neighbours, the first of a pair at an even distance from source_first and
  // in the low half: what vpmaddwd takes. Weights of more than 16 bits are high * 2^15 + low.
  int pair_taps = 0;                // distance between the pairs of two outputs
  std::vector<int32_t> pair_start;  // [count] first source sample less source_first, halved
  std::vector<int32_t> pair_count;  // [count]
  std::vector<int32_t> low_pairs;   // [count, pair_taps]
  std::vector<int32_t> high_pairs;  // [count, pair_taps], Pillow's filter only

  std::vector<double> exact;  // of one output, while the whole weights are computed
};

constexpr int kLowWeightBits = 15;

void compute_resample_axis(const ResampleWindow& window, ResampleAxis& axis);

// The tables of the last few windows; data sets have few picture sizes. The reference stays valid
// until kCapacity - 1 other windows were asked for.
class ResampleAxisCache {
 public:
  const ResampleAxis& get(const ResampleWindow& window);

 private:
  static constexpr size_t kCapacity = 64;
  std::list<ResampleAxis> axes_;  // most recently used first
};

}  // namespace cantilever
