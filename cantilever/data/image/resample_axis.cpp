#include "cantilever/data/image/resample_axis.h"

#include <algorithm>
#include <cmath>
#include <iterator>

#include "cantilever/base/error.h"

namespace cantilever {
namespace {

// Each a product and a sum in one rounding, as torch's kernels for CPUs with FMA round them.
float keys_cubic(float x) {
  constexpr float kA = -0.5F;
  x = std::abs(x);
  if (x < 1.0F) return std::fma(std::fma(kA + 2, x, -(kA + 3)) * x, x, 1.0F);
  if (x < 2.0F) return std::fma(std::fma(std::fma(kA, x, -5 * kA), x, 8 * kA), x, -4 * kA);
  return 0.0F;
}

double keys_cubic(double x, double a) {
  x = std::abs(x);
  if (x < 1.0) return ((a + 2.0) * x - (a + 3.0)) * x * x + 1.0;
  if (x < 2.0) return (((x - 5.0) * x + 8.0) * x - 4.0) * a;
  return 0.0;
}

void set_range(ResampleAxis& axis, int64_t i, int64_t first, int64_t length) {
  axis.start[static_cast<size_t>(i)] = first;
  axis.length[static_cast<size_t>(i)] = static_cast<int>(length);
}

void compute_torch_float(const ResampleWindow& window, float scale, float support, int64_t i,
                         ResampleAxis& axis) {
  // Torch adds double constants to float32 values and rounds where it stores; the casts say where.
  const auto center = static_cast<float>(scale * (static_cast<double>(window.first + i) + 0.5));
  const float inverse_scale = scale >= 1.0F ? static_cast<float>(1.0 / scale) : 1.0F;
  const int64_t first =
      std::max<int64_t>(static_cast<int64_t>((center - support) + 0.5), int64_t{0});
  const int64_t end = std::min<int64_t>(static_cast<int64_t>((center + support) + 0.5), window.in);
  const int64_t length = std::clamp<int64_t>(end - first, 0, axis.taps);
  float* weights = axis.weights.data() + i * axis.taps;
  float total = 0.0F;
  for (int64_t j = 0; j < length; ++j) {
    const float offset = static_cast<float>(j + first) - center;
    const float w = keys_cubic(static_cast<float>((offset + 0.5) * inverse_scale));
    weights[j] = w;
    total += w;
  }
  if (total != 0.0F) {
    for (int64_t j = 0; j < length; ++j) weights[j] /= total;
  }
  set_range(axis, i, first, length);
}

// Four taps around the position; those outside the picture are the sample at its edge.
void compute_torch_noaa(const ResampleWindow& window, float scale, int64_t i, ResampleAxis& axis) {
  const float position = scale * (static_cast<float>(window.first + i) + 0.5F) - 0.5F;
  const auto below = static_cast<int64_t>(std::floor(position));
  const double fraction = std::clamp(position - static_cast<float>(below), 0.0F, 1.0F);
  const int64_t last = window.in - 1;
  const int64_t first = std::clamp<int64_t>(below - 1, 0, last);
  const int64_t end = std::clamp<int64_t>(below + 2, 0, last) + 1;
  float* weights = axis.weights.data() + i * axis.taps;
  for (int64_t j = -1; j <= 2; ++j) {
    const int64_t at = std::clamp<int64_t>(below + j, 0, last) - first;
    weights[at] += static_cast<float>(keys_cubic(static_cast<double>(j) - fraction, -0.75));
  }
  set_range(axis, i, first, end - first);
}

// Returns the weights before they are made whole; Pillow and torch agree on them.
int64_t compute_double(const ResampleWindow& window, int64_t output, std::vector<double>& weights) {
  const double scale = static_cast<double>(window.in) / static_cast<double>(window.out);
  const double filter_scale = std::max(scale, 1.0);
  const double support = 2.0 * filter_scale;
  const double center = (static_cast<double>(output) + 0.5) * scale;
  const int64_t first = std::max<int64_t>(static_cast<int64_t>(center - support + 0.5), 0);
  const int64_t end = std::min<int64_t>(static_cast<int64_t>(center + support + 0.5), window.in);
  weights.clear();
  double total = 0;
  for (int64_t j = first; j < end; ++j) {
    const double offset = (static_cast<double>(j) - center + 0.5) * (1.0 / filter_scale);
    weights.push_back(keys_cubic(offset, -0.5));
    total += weights.back();
  }
  if (total != 0) {
    for (double& w : weights) w /= total;
  }
  return first;
}

// The largest scaling that keeps the largest weight of the whole side within 16 bits.
int torch_precision(const ResampleWindow& window, std::vector<double>& exact) {
  double largest = 0;
  for (int64_t i = 0; i < window.out; ++i) {
    compute_double(window, i, exact);
    for (const double w : exact) largest = std::max(largest, w);
  }
  int precision = 0;
  while (precision < 22 && 0.5 + largest * (1 << (precision + 1)) < 32768.0) ++precision;
  return precision;
}

int32_t pair_of(int32_t first, int32_t second) {
  return static_cast<int32_t>((static_cast<uint32_t>(second) << 16U) |
                              (static_cast<uint32_t>(first) & 0xffffU));
}

void compute_pairs(ResampleAxis& axis) {
  const auto count = static_cast<size_t>(axis.window.count);
  const bool splits = axis.window.filter == ResampleFilter::kPillow;
  axis.pair_taps = axis.longest / 2 + 1;
  const auto taps = static_cast<size_t>(axis.pair_taps);
  axis.pair_start.resize(count);
  axis.pair_count.resize(count);
  axis.low_pairs.assign(count * taps, 0);
  axis.high_pairs.assign(splits ? count * taps : 0, 0);
  for (size_t i = 0; i < count; ++i) {
    const auto offset = static_cast<int32_t>(axis.start[i] - axis.source_first);
    const int32_t odd = offset & 1;
    const int32_t* weights = axis.whole.data() + i * static_cast<size_t>(axis.taps);
    const auto weight = [&](int32_t j) { return j < 0 || j >= axis.length[i] ? 0 : weights[j]; };
    axis.pair_start[i] = offset / 2;
    axis.pair_count[i] = (axis.length[i] + odd + 1) / 2;
    for (int32_t p = 0; p < axis.pair_count[i]; ++p) {
      const int32_t a = weight(2 * p - odd);
      const int32_t b = weight(2 * p - odd + 1);
      const size_t at = i * taps + static_cast<size_t>(p);
      if (splits) {
        constexpr int32_t kMask = (1 << kLowWeightBits) - 1;
        axis.low_pairs[at] = pair_of(a & kMask, b & kMask);
        axis.high_pairs[at] = pair_of(a >> kLowWeightBits, b >> kLowWeightBits);
      } else {
        axis.low_pairs[at] = pair_of(a, b);
      }
    }
  }
}

void compute_levels(const ResampleWindow& window, ResampleAxis& axis) {
  std::vector<double>& weights = axis.exact;
  axis.precision = window.filter == ResampleFilter::kPillow ? 22 : torch_precision(window, weights);
  axis.whole.assign(static_cast<size_t>(window.count) * static_cast<size_t>(axis.taps), 0);
  const double one = 1 << axis.precision;
  for (int64_t i = 0; i < window.count; ++i) {
    const int64_t first = compute_double(window, window.first + i, weights);
    int32_t* whole = axis.whole.data() + i * axis.taps;
    for (size_t j = 0; j < weights.size(); ++j) {
      whole[j] = static_cast<int32_t>(weights[j] * one + (weights[j] < 0 ? -0.5 : 0.5));
    }
    set_range(axis, i, first, std::ssize(weights));
  }
}

// No pass at all in both libraries when the length stays; a weight of one gives the same.
void compute_copy(const ResampleWindow& window, ResampleAxis& axis) {
  axis.taps = 1;
  axis.precision = 14;
  axis.weights.assign(static_cast<size_t>(window.count), 1.0F);
  axis.whole.assign(static_cast<size_t>(window.count), 1 << axis.precision);
  for (int64_t i = 0; i < window.count; ++i) set_range(axis, i, window.first + i, 1);
}

void compute_weights(const ResampleWindow& window, ResampleAxis& axis) {
  if (resamples_levels(window.filter)) {
    const double shrink = static_cast<double>(window.in) / static_cast<double>(window.out);
    axis.taps = static_cast<int>(std::ceil(2.0 * std::max(shrink, 1.0))) * 2 + 1;
    compute_levels(window, axis);
    return;
  }
  const float scale = static_cast<float>(window.in) / static_cast<float>(window.out);
  const float support = scale >= 1.0F ? static_cast<float>(2.0 * scale) : 2.0F;
  const bool widens = window.filter != ResampleFilter::kTorchFloatNoaa;
  axis.taps = widens ? static_cast<int>(std::ceil(support)) * 2 + 1 : 4;
  axis.weights.assign(static_cast<size_t>(window.count) * static_cast<size_t>(axis.taps), 0.0F);
  for (int64_t i = 0; i < window.count; ++i) {
    if (widens) {
      compute_torch_float(window, scale, support, i, axis);
    } else {
      compute_torch_noaa(window, scale, i, axis);
    }
  }
}

}  // namespace

void compute_resample_axis(const ResampleWindow& window, ResampleAxis& axis) {
  CANTILEVER_ASSERT(window.in > 0 && window.count > 0 && window.first >= 0 &&
                    window.first + window.count <= window.out);
  axis.window = window;
  const auto count = static_cast<size_t>(window.count);
  axis.start.resize(count);
  axis.length.resize(count);
  if (window.in == window.out) {
    compute_copy(window, axis);
  } else {
    compute_weights(window, axis);
  }
  axis.longest = *std::max_element(axis.length.begin(), axis.length.end());
  axis.source_first = *std::min_element(axis.start.begin(), axis.start.end());
  axis.source_end = 0;
  for (size_t i = 0; i < count; ++i) {
    axis.source_end = std::max(axis.source_end, axis.start[i] + axis.length[i]);
  }
  if (resamples_levels(window.filter)) compute_pairs(axis);
}

const ResampleAxis& ResampleAxisCache::get(const ResampleWindow& window) {
  const auto found = std::find_if(axes_.begin(), axes_.end(),
                                  [&](const ResampleAxis& axis) { return axis.window == window; });
  if (found != axes_.end()) {
    axes_.splice(axes_.begin(), axes_, found);
    return axes_.front();
  }
  if (axes_.size() < kCapacity) {
    axes_.emplace_front();
  } else {
    axes_.splice(axes_.begin(), axes_, std::prev(axes_.end()));  // its memory is used again
  }
  compute_resample_axis(window, axes_.front());
  return axes_.front();
}

}  // namespace cantilever
