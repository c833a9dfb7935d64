#include "cantilever/data/image/resample_axis.h"

#include <algorithm>
#include <cmath>

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

void compute_output(const ResampleWindow& window, float scale, float support, int64_t i,
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
  const auto index = static_cast<size_t>(i);
  axis.start[index] = first;
  axis.length[index] = static_cast<int>(length);
}

void compute_copy(const ResampleWindow& window, ResampleAxis& axis) {
  axis.taps = 1;
  axis.weights.assign(static_cast<size_t>(window.count), 1.0F);
  for (int64_t i = 0; i < window.count; ++i) {
    axis.start[static_cast<size_t>(i)] = window.first + i;
    axis.length[static_cast<size_t>(i)] = 1;
  }
}

}  // namespace

void compute_resample_axis(const ResampleWindow& window, ResampleAxis& axis) {
  CANTILEVER_ASSERT(window.in > 0 && window.count > 0 && window.first >= 0 &&
                    window.first + window.count <= window.out);
  axis.window = window;
  axis.is_copy = window.in == window.out;
  const auto count = static_cast<size_t>(window.count);
  axis.start.resize(count);
  axis.length.resize(count);
  if (axis.is_copy) {
    compute_copy(window, axis);
  } else {
    const float scale = static_cast<float>(window.in) / static_cast<float>(window.out);
    const float support = scale >= 1.0F ? static_cast<float>(2.0 * scale) : 2.0F;
    axis.taps = static_cast<int>(std::ceil(support)) * 2 + 1;
    axis.weights.assign(count * static_cast<size_t>(axis.taps), 0.0F);
    for (int64_t i = 0; i < window.count; ++i) compute_output(window, scale, support, i, axis);
  }
  axis.longest = *std::max_element(axis.length.begin(), axis.length.end());
  axis.source_first = *std::min_element(axis.start.begin(), axis.start.end());
  axis.source_end = 0;
  for (size_t i = 0; i < count; ++i) {
    axis.source_end = std::max(axis.source_end, axis.start[i] + axis.length[i]);
  }
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
