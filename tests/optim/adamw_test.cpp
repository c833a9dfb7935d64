#include "cantilever/optim/adamw.h"

#include <ATen/Parallel.h>
#include <ATen/ops/_fused_adamw.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/full.h>
#include <ATen/ops/linalg_vector_norm.h>
#include <ATen/ops/randn.h>
#include <ATen/ops/zeros.h>
#include <ATen/ops/zeros_like.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "cantilever/base/error.h"
#include "cantilever/optim/clip.h"

namespace cantilever {
namespace {

// Odd sizes, so that vector loops end inside slots; a scalar; one of several tasks.
NamedParameters make_parameters() {
  NamedParameters parameters;
  const std::vector<std::vector<int64_t>> shapes = {{3, 5}, {}, {17}, {129, 33}, {1}, {50, 401}};
  int index = 0;
  for (const auto& shape : shapes) {
    const char* kind = index % 2 == 0 ? ".weight" : ".bias";
    parameters.emplace_back("p" + std::to_string(index++) + kind,
                            at::randn(shape).set_requires_grad(true));
  }
  return parameters;
}

bool ends_in_weight(const std::string& name) {
  return name.ends_with(".weight");
}

void expect_gaps_zero(const FlatParameters& flat, const at::Tensor& buffer) {
  at::Tensor copy = buffer.clone();
  for (const ParameterSlot& slot : flat.slots()) copy.narrow(0, slot.offset, slot.numel).zero_();
  EXPECT_TRUE(copy.eq(0).all().item<bool>());
}

TEST(FlatParameters, LaysOutDecayedThenOthersAligned) {
  NamedParameters parameters = make_parameters();
  NamedParameters before;
  for (const auto& [name, tensor] : parameters) before.emplace_back(name, tensor.detach().clone());
  const FlatParameters flat(parameters, ends_in_weight);
  std::vector<std::string> names;
  for (const ParameterSlot& slot : flat.slots()) {
    names.push_back(slot.name);
    EXPECT_EQ(slot.offset % 16, 0);
    EXPECT_EQ(slot.decayed, ends_in_weight(slot.name));
    const FlatRange range = slot.decayed ? flat.decayed_range() : flat.other_range();
    EXPECT_GE(slot.offset, range.begin);
    EXPECT_LE(slot.offset + slot.numel, range.end);
  }
  EXPECT_EQ(names, (std::vector<std::string>{"p0.weight", "p2.weight", "p4.weight", "p1.bias",
                                             "p3.bias", "p5.bias"}));
  EXPECT_EQ(flat.decayed_range().begin, 0);
  EXPECT_EQ(flat.decayed_range().end, flat.other_range().begin);
  EXPECT_EQ(flat.other_range().end, flat.size());
  for (size_t i = 0; i < parameters.size(); ++i) {
    EXPECT_TRUE(parameters[i].second.equal(before[i].second));
  }
  expect_gaps_zero(flat, flat.values());
}

TEST(FlatParameters, ViewsAliasTheBuffers) {
  NamedParameters parameters = make_parameters();
  FlatParameters flat(parameters, ends_in_weight);
  flat.values().fill_(3);
  for (const auto& [name, tensor] : parameters)
    EXPECT_TRUE(tensor.eq(3).all().item<bool>()) << name;
}

TEST(FlatParameters, AutogradAccumulatesInPlace) {
  NamedParameters parameters = make_parameters();
  FlatParameters flat(parameters, ends_in_weight);
  const auto backward = [&] {
    at::Tensor loss = at::zeros({});
    for (const auto& [name, tensor] : parameters) loss = loss + (tensor * tensor).sum();
    loss.backward();
  };
  backward();
  backward();
  for (const ParameterSlot& slot : flat.slots()) {
    const at::Tensor value = FlatParameters::view(flat.values(), slot);
    const at::Tensor gradient = FlatParameters::view(flat.gradients(), slot);
    EXPECT_TRUE(gradient.equal(4 * value)) << slot.name;
  }
  for (const auto& [name, tensor] : parameters) {
    EXPECT_TRUE(tensor.grad().is_alias_of(flat.gradients())) << name;
  }
  expect_gaps_zero(flat, flat.gradients());
  flat.zero_gradients();
  EXPECT_TRUE(flat.gradients().eq(0).all().item<bool>());
}

TEST(FlatParameters, ZeroGradientsRestoresAndRefuses) {
  NamedParameters parameters = make_parameters();
  FlatParameters flat(parameters, ends_in_weight);
  parameters[0].second.mutable_grad() = at::Tensor();
  flat.zero_gradients();
  EXPECT_TRUE(parameters[0].second.grad().is_alias_of(flat.gradients()));
  parameters[0].second.mutable_grad() = at::zeros_like(parameters[0].second);
  EXPECT_THROW(flat.zero_gradients(), InternalError);
}

TEST(FlatParameters, UsesTheMemoryHandedIn) {
  std::vector<at::Tensor> handed;
  const auto allocate = [&](int64_t numel) {
    handed.push_back(allocate_plain(numel));
    return handed.back();
  };
  const FlatParameters flat(make_parameters(), ends_in_weight, allocate);
  ASSERT_EQ(handed.size(), 4U);
  EXPECT_TRUE(flat.values().is_alias_of(handed[0]));
  const auto misaligned = [](int64_t numel) { return at::zeros({numel + 1}).narrow(0, 1, numel); };
  EXPECT_THROW(FlatParameters(make_parameters(), ends_in_weight, misaligned), InternalError);
}

// One parameter updated by PyTorch's fused kernel on its own.
struct Alone {
  at::Tensor value, exp_avg, exp_avg_sq;
  double weight_decay;

  void step(const at::Tensor& gradient, double rate, int64_t number, const AdamWOptions& options) {
    std::vector<at::Tensor> values = {value}, gradients = {gradient.clone()}, first = {exp_avg},
                            second = {exp_avg_sq},
                            steps = {at::full({}, static_cast<double>(number), at::kFloat)};
    at::_fused_adamw_(values, gradients, first, second, {}, steps, rate, options.beta1,
                      options.beta2, weight_decay, options.epsilon, false, false);
  }
};

TEST(AdamW, BitEqualToTheFusedKernelPerParameter) {
  for (const int threads : {1, 2}) {
    const int before = at::get_num_threads();
    at::set_num_threads(threads);
    NamedParameters parameters = make_parameters();
    AdamWOptions options;
    options.weight_decay = 0.1;
    options.beta2 = 0.98;
    options.epsilon = 1e-6;
    std::vector<Alone> alone;
    for (const auto& [name, tensor] : parameters) {
      alone.push_back({tensor.detach().clone(), at::zeros_like(tensor.detach()),
                       at::zeros_like(tensor.detach()), ends_in_weight(name) ? 0.1 : 0.0});
    }
    FlatParameters flat(parameters, ends_in_weight);
    AdamW optimizer(flat, options);
    for (int64_t step = 1; step <= 12; ++step) {
      const double rate = 1e-3 / static_cast<double>(step);
      flat.zero_gradients();
      for (size_t i = 0; i < parameters.size(); ++i) {
        const at::Tensor gradient = at::randn(parameters[i].second.sizes());
        parameters[i].second.mutable_grad().copy_(gradient);
        alone[i].step(gradient, rate, step, options);
      }
      optimizer.step(rate);
    }
    EXPECT_EQ(optimizer.steps_done(), 12);
    for (size_t i = 0; i < parameters.size(); ++i) {
      EXPECT_TRUE(parameters[i].second.equal(alone[i].value)) << parameters[i].first;
    }
    expect_gaps_zero(flat, flat.values());
    expect_gaps_zero(flat, flat.exp_avg_sq());
    at::set_num_threads(before);
  }
}

TEST(AdamW, FollowsTheFormula) {
  NamedParameters parameters = {{"w.weight", at::full({1}, 2.0).set_requires_grad(true)}};
  FlatParameters flat(parameters, ends_in_weight);
  AdamWOptions options;
  options.weight_decay = 0.5;
  AdamW optimizer(flat, options);
  double value = 2, first = 0, second = 0;
  for (int step = 1; step <= 5; ++step) {
    const double gradient = 0.3 * step;
    parameters[0].second.mutable_grad().fill_(gradient);
    optimizer.step(0.01);
    value *= 1 - 0.01 * 0.5;
    first = 0.9 * first + 0.1 * gradient;
    second = 0.999 * second + 0.001 * gradient * gradient;
    value -= 0.01 * (first / (1 - std::pow(0.9, step))) /
             (std::sqrt(second / (1 - std::pow(0.999, step))) + 1e-8);
  }
  EXPECT_NEAR(parameters[0].second.item<float>(), value, 1e-6);
}

TEST(AdamW, GoesOnFromARestoredState) {
  const NamedParameters start = make_parameters();
  const auto copy = [&] {
    NamedParameters result;
    for (const auto& [name, tensor] : start) {
      result.emplace_back(name, tensor.detach().clone().set_requires_grad(true));
    }
    return result;
  };
  const auto fill = [](FlatParameters& flat, int64_t step) {
    flat.gradients().copy_(flat.values() * static_cast<double>(step));
  };
  NamedParameters whole = copy();
  FlatParameters flat(whole, ends_in_weight);
  AdamW optimizer(flat, {});
  for (int64_t step = 0; step < 3; ++step) {
    fill(flat, step);
    optimizer.step(1e-3);
  }
  NamedParameters half = copy();
  FlatParameters second(half, ends_in_weight);
  second.values().copy_(flat.values());
  second.exp_avg().copy_(flat.exp_avg());
  second.exp_avg_sq().copy_(flat.exp_avg_sq());
  AdamW resumed(second, {});
  resumed.set_steps_done(3);
  for (int64_t step = 3; step < 6; ++step) {
    fill(flat, step);
    optimizer.step(1e-3);
    fill(second, step);
    resumed.step(1e-3);
  }
  EXPECT_TRUE(flat.values().equal(second.values()));
}

class Clip : public ::testing::Test {
 protected:
  void SetUp() override {
    flat_.gradients().zero_();
    for (const ParameterSlot& slot : flat_.slots()) {
      FlatParameters::view(flat_.gradients(), slot).copy_(at::randn(slot.shape));
    }
    before_ = flat_.gradients().clone();
    norm_ = at::linalg_vector_norm(before_.to(at::kDouble)).item<double>();
  }

  NamedParameters parameters_ = make_parameters();
  FlatParameters flat_{parameters_, ends_in_weight};
  at::Tensor before_;
  double norm_ = 0;
};

TEST_F(Clip, ScalesToTheNorm) {
  EXPECT_NEAR(clip_gradient_norm(flat_, 1.0), norm_, 1e-5 * norm_);
  EXPECT_TRUE(flat_.gradients().allclose(before_ / (norm_ + 1e-6), 1e-5, 0));
}

TEST_F(Clip, LeavesShortGradientsAlone) {
  EXPECT_NEAR(clip_gradient_norm(flat_, 2 * norm_), norm_, 1e-5 * norm_);
  EXPECT_TRUE(flat_.gradients().equal(before_));
}

TEST_F(Clip, OnlyMeasuresWithoutALimit) {
  EXPECT_NEAR(clip_gradient_norm(flat_, 0), norm_, 1e-5 * norm_);
  EXPECT_NEAR(clip_gradient_norm(flat_, -1), norm_, 1e-5 * norm_);
  EXPECT_TRUE(flat_.gradients().equal(before_));
}

TEST_F(Clip, FiniteGradientsWithAnInfiniteNormBecomeZeroAsInPyTorch) {
  flat_.gradients().fill_(std::numeric_limits<float>::max());
  EXPECT_TRUE(std::isinf(clip_gradient_norm(flat_, 1.0)));
  EXPECT_TRUE(flat_.gradients().eq(0).all().item<bool>());
}

TEST_F(Clip, ReturnsWhatIsNotFinite) {
  flat_.gradients().fill_(std::numeric_limits<float>::infinity());
  EXPECT_TRUE(std::isinf(clip_gradient_norm(flat_, 1.0)));
  flat_.gradients().fill_(std::numeric_limits<float>::quiet_NaN());
  EXPECT_TRUE(std::isnan(clip_gradient_norm(flat_, 1.0)));
}

}  // namespace
}  // namespace cantilever
