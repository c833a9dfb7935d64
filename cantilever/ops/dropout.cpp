#include "cantilever/ops/dropout.h"

#include <ATen/Parallel.h>
#include <ATen/ops/empty_like.h>
#include <torch/csrc/autograd/custom_function.h>

#include <algorithm>
#include <cmath>

#include "cantilever/base/error.h"
#include "cantilever/base/rng.h"

namespace cantilever {
namespace {

// Philox blocks computed side by side: one 512-bit register of counters, or two of 256 bits.
constexpr int64_t kLanes = 16;
constexpr int64_t kDraws = 4 * kLanes;  // draws a group of blocks gives
constexpr int64_t kGrain = 16384;       // elements a task at least has

struct Mask {
  uint32_t key0 = 0;
  uint32_t key1 = 0;
  uint64_t threshold = 0;  // kept when draw >= threshold
  float scale = 1;
};

Mask make_mask(double p, uint64_t key) {
  CANTILEVER_CHECK(p >= 0 && p < 1, "dropout: rate ", p, " is not in [0, 1)");
  Mask mask;
  mask.key0 = static_cast<uint32_t>(key);
  mask.key1 = static_cast<uint32_t>(key >> 32);
  mask.threshold = static_cast<uint64_t>(std::ceil(p * 4294967296.0));
  mask.scale = static_cast<float>(1.0 / (1.0 - p));
  return mask;
}

// y[i] = x[i] * (kept ? scale : 0) for the 64 elements that belong to blocks first_block...
// first_block + 15, as philox4x32({block, block >> 32, 0, 0}, key). Plain loops over lanes, which
// GCC turns into vector code; the products are 32 x 32 -> 64 bits.
[[gnu::always_inline]] inline void apply_group(const float* x, float* y, uint64_t first_block,
                                               const Mask& mask) {
  uint32_t c0[kLanes], c1[kLanes], c2[kLanes], c3[kLanes];
  for (int64_t lane = 0; lane < kLanes; ++lane) {
    const uint64_t block = first_block + static_cast<uint64_t>(lane);
    c0[lane] = static_cast<uint32_t>(block);
    c1[lane] = static_cast<uint32_t>(block >> 32);
    c2[lane] = 0;
    c3[lane] = 0;
  }
  uint32_t k0 = mask.key0;
  uint32_t k1 = mask.key1;
  for (int round = 0; round < 10; ++round) {
    for (int64_t lane = 0; lane < kLanes; ++lane) {
      const uint64_t product0 = uint64_t{0xD2511F53} * c0[lane];
      const uint64_t product1 = uint64_t{0xCD9E8D57} * c2[lane];
      c0[lane] = static_cast<uint32_t>(product1 >> 32) ^ c1[lane] ^ k0;
      c1[lane] = static_cast<uint32_t>(product1);
      c2[lane] = static_cast<uint32_t>(product0 >> 32) ^ c3[lane] ^ k1;
      c3[lane] = static_cast<uint32_t>(product0);
    }
    k0 += 0x9E3779B9;
    k1 += 0xBB67AE85;
  }
  uint32_t draws[kDraws];
  for (int64_t lane = 0; lane < kLanes; ++lane) {
    draws[4 * lane + 0] = c0[lane];
    draws[4 * lane + 1] = c1[lane];
    draws[4 * lane + 2] = c2[lane];
    draws[4 * lane + 3] = c3[lane];
  }
  // draw >= threshold, where threshold may be 2^32: nothing is kept then.
  const float scale = mask.threshold > UINT32_MAX ? 0.0F : mask.scale;
  const auto threshold = static_cast<uint32_t>(std::min<uint64_t>(mask.threshold, UINT32_MAX));
  for (int64_t i = 0; i < kDraws; ++i) y[i] = x[i] * (draws[i] >= threshold ? scale : 0.0F);
}

// Elements [begin, end), begin a multiple of kDraws.
[[gnu::target_clones("avx512f", "avx2", "default")]] void apply_range(const float* x, float* y,
                                                                      int64_t begin, int64_t end,
                                                                      const Mask& mask) {
  int64_t i = begin;
  for (; i + kDraws <= end; i += kDraws) {
    apply_group(x + i, y + i, static_cast<uint64_t>(i / 4), mask);
  }
  if (i == end) return;
  float in[kDraws] = {};
  float out[kDraws];
  std::copy(x + i, x + end, in);
  apply_group(in, out, static_cast<uint64_t>(i / 4), mask);
  std::copy(out, out + (end - i), y + i);
}

at::Tensor apply_mask(const at::Tensor& x, const Mask& mask) {
  CANTILEVER_ASSERT(x.scalar_type() == at::kFloat && x.device().is_cpu(),
                    "dropout is float32 on CPUs");
  const at::Tensor source = x.contiguous();
  at::Tensor result = at::empty_like(source);
  const float* from = source.const_data_ptr<float>();
  float* to = result.mutable_data_ptr<float>();
  const int64_t count = source.numel();
  const int64_t groups = (count + kDraws - 1) / kDraws;
  at::parallel_for(0, groups, kGrain / kDraws, [&](int64_t first, int64_t last) {
    apply_range(from, to, first * kDraws, std::min(last * kDraws, count), mask);
  });
  return result;
}

// Saves rate and key, not the mask.
class Dropout : public torch::autograd::Function<Dropout> {
 public:
  static at::Tensor forward(torch::autograd::AutogradContext* context, const at::Tensor& x,
                            double p, int64_t key) {
    context->saved_data["p"] = p;
    context->saved_data["key"] = key;
    return apply_mask(x, make_mask(p, static_cast<uint64_t>(key)));
  }

  static torch::autograd::variable_list backward(torch::autograd::AutogradContext* context,
                                                 torch::autograd::variable_list gradients) {
    const Mask mask = make_mask(context->saved_data["p"].toDouble(),
                                static_cast<uint64_t>(context->saved_data["key"].toInt()));
    return {apply_mask(gradients[0], mask), at::Tensor(), at::Tensor()};
  }
};

}  // namespace

at::Tensor dropout(const at::Tensor& x, double p, uint64_t key) {
  if (p == 0) return x;
  make_mask(p, key);  // refuses a bad rate before anything is recorded
  return Dropout::apply(x, p, static_cast<int64_t>(key));
}

}  // namespace cantilever
