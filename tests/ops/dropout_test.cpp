#include "cantilever/ops/dropout.h"

#include <ATen/Parallel.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/randn.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <limits>
#include <vector>

#include "cantilever/base/error.h"
#include "cantilever/base/rng.h"
#include "cantilever/ops/dropout_kernels.h"

namespace cantilever {
namespace {

struct Pass {
  at::Tensor value;
  at::Tensor gradient;
};

template <class Function>
Pass run(const at::Tensor& x, const at::Tensor& weights, Function&& function) {
  const at::Tensor leaf = x.detach().clone().set_requires_grad(true);
  const at::Tensor y = function(leaf);
  (y * weights).sum().backward();
  return {y.detach(), leaf.grad()};
}

TEST(Dropout, EqualsTheReferenceInValuesAndGradients) {
  // Sizes around a block of 4, a group of 64 and a task of 16384; a key beyond 32 bits.
  for (const int64_t size : {1, 3, 4, 5, 63, 64, 65, 127, 1000, 16384, 16385, 100003}) {
    for (const double p : {0.1, 0.5, 0.9, 1e-9, 0.99999999999}) {
      const at::Tensor x = at::randn({size});
      const at::Tensor weights = at::randn({size});
      const uint64_t key = mix_key(static_cast<uint64_t>(size), 7);
      const Pass fast =
          run(x, weights, [&](const at::Tensor& t) { return cantilever::dropout(t, p, key); });
      const Pass slow =
          run(x, weights, [&](const at::Tensor& t) { return dropout_reference(t, p, key); });
      EXPECT_TRUE(fast.value.equal(slow.value)) << size << " " << p;
      EXPECT_TRUE(fast.gradient.equal(slow.gradient)) << size << " " << p;
    }
  }
}

TEST(Dropout, IsWhatTheHeaderSaysWordForWord) {
  const at::Tensor x = at::ones({37});
  const uint64_t key = 0xFEDCBA9876543210ULL;
  const at::Tensor y = cantilever::dropout(x, 0.25, key);
  for (int64_t i = 0; i < 37; ++i) {
    const auto draws =
        philox4x32({static_cast<uint32_t>(i / 4), 0, 0, 0}, {0x76543210U, 0xFEDCBA98U});
    const bool kept = draws[static_cast<size_t>(i % 4)] >= 0.25 * 4294967296.0;
    EXPECT_EQ(y[i].item<float>(), kept ? static_cast<float>(1 / 0.75) : 0.0F) << i;
  }
}

TEST(Dropout, StridedInputsCountRowMajor) {
  const at::Tensor x = at::randn({50, 70});
  const at::Tensor turned = x.t();
  EXPECT_TRUE(
      cantilever::dropout(turned, 0.3, 5).equal(cantilever::dropout(turned.contiguous(), 0.3, 5)));
  const Pass fast = run(x, at::randn({70, 50}),
                        [](const at::Tensor& t) { return cantilever::dropout(t.t(), 0.3, 5); });
  EXPECT_TRUE((fast.gradient.t().ne(0)).equal(fast.value.ne(0)));
}

TEST(Dropout, RateAndMeanAreRight) {
  constexpr int64_t kCount = 4'000'000;
  for (const double p : {0.1, 0.3, 0.75}) {
    const at::Tensor y = cantilever::dropout(at::ones({kCount}), p, 99);
    const double dropped = 1 - y.ne(0).sum().item<double>() / kCount;
    const double deviation = std::sqrt(p * (1 - p) / kCount);
    EXPECT_NEAR(dropped, p, 5 * deviation);
    EXPECT_NEAR(y.mean(at::kDouble).item<double>(), 1, 5 * deviation / (1 - p));
  }
}

TEST(Dropout, NeighboursAndKeysAreIndependent) {
  constexpr int64_t kCount = 1'000'000;
  const at::Tensor a = cantilever::dropout(at::ones({kCount}), 0.5, 1).ne(0).to(at::kDouble) - 0.5;
  const at::Tensor b = cantilever::dropout(at::ones({kCount}), 0.5, 2).ne(0).to(at::kDouble) - 0.5;
  const double limit = 5 * 0.25 / std::sqrt(static_cast<double>(kCount));
  EXPECT_LT(std::abs((a * b).mean().item<double>()), limit);
  for (const int64_t distance : {1, 2, 4, 64}) {
    const double product =
        (a.narrow(0, 0, kCount - distance) * a.narrow(0, distance, kCount - distance))
            .mean()
            .item<double>();
    EXPECT_LT(std::abs(product), limit) << distance;
  }
}

TEST(Dropout, SameForAnyNumberOfThreads) {
  const at::Tensor x = at::randn({300, 1000});
  const at::Tensor weights = at::randn({300, 1000});
  const int before = at::get_num_threads();
  std::vector<Pass> passes;
  for (const int threads : {1, 2, 3}) {
    at::set_num_threads(threads);
    passes.push_back(
        run(x, weights, [](const at::Tensor& t) { return cantilever::dropout(t, 0.1, 42); }));
  }
  at::set_num_threads(before);
  for (const Pass& pass : passes) {
    EXPECT_TRUE(pass.value.equal(passes[0].value));
    EXPECT_TRUE(pass.gradient.equal(passes[0].gradient));
  }
}

TEST(Dropout, ZeroRateGivesTheTensorItself) {
  const at::Tensor x = at::randn({10});
  EXPECT_TRUE(cantilever::dropout(x, 0, 1).is_same(x));
  EXPECT_TRUE(dropout_reference(x, 0, 1).is_same(x));
}

TEST(Dropout, NotANumberStaysVisible) {
  at::Tensor x = at::ones({64});
  x.fill_(std::numeric_limits<float>::quiet_NaN());
  EXPECT_TRUE(cantilever::dropout(x, 0.5, 3).isnan().all().item<bool>());
}

TEST(Dropout, RefusesRatesOutsideItsRange) {
  for (const double p : {-0.1, 1.0, 1.5, std::numeric_limits<double>::quiet_NaN()}) {
    EXPECT_THROW(cantilever::dropout(at::ones({4}), p, 1), Error) << p;
  }
}

TEST(Dropout, KernelsGiveTheSameBits) {
  const auto& kernels = dropout_kernels();
  ASSERT_STREQ(kernels.back().name, "plain");
  const at::Tensor x = at::randn({1003});
  // Element numbers beyond 2^34, where the block number leaves 32 bits; thresholds at both ends.
  for (const int64_t first : {int64_t{0}, int64_t{64}, (int64_t{1} << 34) - 64}) {
    for (const uint64_t threshold : {uint64_t{1}, uint64_t{429496730}, uint64_t{1} << 32}) {
      const DropoutMask mask{0x123456789ABCDEFULL, threshold, 1.25F};
      std::vector<float> expected(1003), actual(1003);
      kernels.back().function(x.const_data_ptr<float>(), expected.data(), first, 1003, mask);
      for (const NamedDropoutKernel& kernel : kernels) {
        for (const int64_t count : {1003, 64, 37, 3, 0}) {
          kernel.function(x.const_data_ptr<float>(), actual.data(), first, count, mask);
          EXPECT_TRUE(std::equal(actual.begin(), actual.begin() + count, expected.begin()))
              << kernel.name << " " << first << " " << threshold << " " << count;
        }
      }
    }
  }
}

// Not a test but a measurement: --gtest_also_run_disabled_tests prints it.
TEST(Dropout, DISABLED_Speed) {
  const at::Tensor x = at::randn({1 << 16});  // stays in the cache
  at::Tensor y = at::empty_like(x);
  for (const NamedDropoutKernel& kernel : dropout_kernels()) {
    double best = 1e9;
    for (uint64_t i = 0; i < 50; ++i) {
      const auto start = std::chrono::steady_clock::now();
      kernel.function(x.const_data_ptr<float>(), y.mutable_data_ptr<float>(), 0, x.numel(),
                      {i, 429496730, 1.1F});
      const std::chrono::duration<double> spent = std::chrono::steady_clock::now() - start;
      best = std::min(best, spent.count());
    }
    std::printf("%s: %.3f ns per element and thread\n", kernel.name,
                best / static_cast<double>(x.numel()) * 1e9);
  }
}

}  // namespace
}  // namespace cantilever
