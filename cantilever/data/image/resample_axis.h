#pragma once

#include <cstddef>
#include <cstdint>
#include <list>
#include <vector>

namespace cantilever {

// A window of output samples along one side of a picture: `count` of them from `first` on, out of
// the `out` that the whole side would have; `in` source samples.
struct ResampleWindow {
  int64_t in = 0;
  int64_t out = 0;
  int64_t first = 0;
  int64_t count = 0;

  bool operator==(const ResampleWindow&) const = default;
};

// Antialiased bicubic weights (Keys, a = -0.5) as at::_upsample_bicubic2d_aa computes them for
// float32: same order, same roundings (HelperInterpBase::_compute_indices_min_size_weights_aa).
struct ResampleAxis {
  ResampleWindow window;
  bool is_copy = false;      // in == out: samples are taken as they are, start is the index
  int taps = 0;              // distance between the weights of two outputs
  int64_t source_first = 0;  // the source samples used at all: [source_first, source_end)
  int64_t source_end = 0;
  std::vector<int64_t> start;  // [count] first source sample of each output
  std::vector<int> length;     // [count] number of source samples, 1..taps
  std::vector<float> weights;  // [count, taps]
  int longest = 0;             // largest length
};

void compute_resample_axis(const ResampleWindow& window, ResampleAxis& axis);

// The tables of the last few windows; data sets have few picture sizes. The reference stays valid
// until kCapacity other windows were asked for.
class ResampleAxisCache {
 public:
  const ResampleAxis& get(const ResampleWindow& window);

 private:
  static constexpr size_t kCapacity = 32;
  std::list<ResampleAxis> axes_;  // most recently used first
};

}  // namespace cantilever
