#include "cantilever/train/step.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "cantilever/io/safetensors.h"
#include "cantilever/optim/parameter_groups.h"
#include "cantilever/train/dump.h"
#include "tests/support/temporary_folder.h"
#include "tests/train/tiny_run.h"

namespace cantilever {
namespace {

// A model, its optimiser and batches of a tiny set.
struct Bench {
  explicit Bench(const std::filesystem::path& folder, double dropout)
      : run(folder, 12, dropout),
        bench(open_workbench(run.options, {})),
        parameters(bench.model->parameters_in_backward_order(), is_decayed),
        optimizer(parameters, AdamWOptions{}),
        loader(bench.split("train"), bench.tokenizer, loader_options(run.options, bench, true)) {
    loader.seek(0, 0);
  }

  test::TinyRun run;
  Workbench bench;
  FlatParameters parameters;
  AdamW optimizer;
  BatchLoader loader;
};

struct KeepGradients : StepObserver {
  void micro_batch(int64_t, const Batch&, const BatchTensors&,
                   const ContrastiveOutput& output) override {
    losses.push_back(output.loss.item<float>());
  }
  void gradients(int64_t, const FlatParameters& parameters) override {
    kept = parameters.gradients().clone();
  }
  std::vector<float> losses;
  at::Tensor kept;
};

TEST(TrainStep, AccumulationIsTheMeanOfTheMicroBatches) {
  const test::TemporaryFolder folder;
  Bench b(folder.path(), 0);
  const auto next = [&]() -> const Batch& { return b.loader.next(); };
  const at::Tensor start = b.parameters.values().clone();
  KeepGradients all;
  TrainStep step(*b.bench.model, b.parameters, b.optimizer, StepOptions{});
  step.observe(&all);
  const StepReport report = step.run(1, 3, 0, next);
  ASSERT_EQ(all.losses.size(), 3U);
  EXPECT_NEAR(report.loss(), (all.losses[0] + all.losses[1] + all.losses[2]) / 3, 1e-6);
  EXPECT_EQ(report.samples, 12);
  EXPECT_EQ(report.input_ids, 12 * 16);
  const at::Tensor together = all.kept;

  b.loader.seek(0, 0);
  at::Tensor mean = at::zeros_like(together);
  for (int i = 0; i < 3; ++i) {
    ASSERT_TRUE(at::equal(start, b.parameters.values()));  // the learning rate is 0
    step.run(1, 1, 0, next);
    mean += all.kept / 3;
  }
  EXPECT_LT((mean - together).abs().max().item<float>(), 1e-5 * together.abs().max().item<float>());
}

TEST(TrainStep, DropoutIsAFunctionOfSeedStepAndMicroBatch) {
  const test::TemporaryFolder folder;
  Bench b(folder.path(), 0.1);
  const auto loss_of = [&](uint64_t seed, int64_t number) {
    StepOptions options;
    options.seed = seed;
    TrainStep step(*b.bench.model, b.parameters, b.optimizer, options);
    b.loader.seek(0, 0);
    return step.run(number, 1, 0, [&]() -> const Batch& { return b.loader.next(); }).loss();
  };
  EXPECT_EQ(loss_of(42, 1), loss_of(42, 1));
  EXPECT_NE(loss_of(42, 1), loss_of(42, 2));
  EXPECT_NE(loss_of(42, 1), loss_of(43, 1));
  EXPECT_NE(dropout_key(1, 1, 0), dropout_key(1, 1, 1));
}

TEST(TrainStep, ANonFiniteStepIsNotApplied) {
  const test::TemporaryFolder folder;
  Bench b(folder.path(), 0);
  {
    const c10::AutoGradMode no_grad(false);
    b.bench.model->logit_scale.fill_(1e30F);
  }
  const at::Tensor start = b.parameters.values().clone();
  const auto next = [&]() -> const Batch& { return b.loader.next(); };
  TrainStep step(*b.bench.model, b.parameters, b.optimizer, StepOptions{});
  const StepReport report = step.run(1, 1, 1e-3, next);
  EXPECT_FALSE(report.finite());
  EXPECT_FALSE(report.applied);
  EXPECT_TRUE(at::equal(start, b.parameters.values()));
  EXPECT_EQ(b.optimizer.steps_done(), 0);
  StepOptions on;
  on.apply_non_finite = true;
  TrainStep careless(*b.bench.model, b.parameters, b.optimizer, on);
  EXPECT_TRUE(careless.run(1, 1, 1e-3, next).applied);
}

TEST(StepDump, HoldsWhatTheReferenceDumps) {
  const test::TemporaryFolder folder;
  Bench b(folder.path(), 0);
  const auto dump = make_step_dump(folder / "dump");
  SampleOrderDump order;
  TrainStep step(*b.bench.model, b.parameters, b.optimizer, StepOptions{});
  step.observe(dump.get());
  step.observe(&order);
  for (int64_t number = 1; number <= 2; ++number) {
    step.run(number, 2, 0, [&]() -> const Batch& { return b.loader.next(); });
  }
  const auto file = open_safetensors(folder / "dump" / "first_step.safetensors");
  const auto shape = [&](const char* name) {
    const TensorView* found = file->find(name);
    return found == nullptr ? std::vector<int64_t>{-1} : found->shape;
  };
  EXPECT_EQ(shape("input.pixel_values"), (std::vector<int64_t>{8, 3, 64, 64}));
  EXPECT_EQ(shape("input.input_ids"), (std::vector<int64_t>{8, 16}));
  EXPECT_EQ(shape("output.loss"), (std::vector<int64_t>{2}));
  EXPECT_EQ(shape("output.cross_embeds").front(), 8);
  EXPECT_EQ(file->tensors().size(), 7 + b.parameters.slots().size());
  EXPECT_NE(file->find("gradient.logit_scale"), nullptr);
  order.save(folder.path());
  const Json written = read_json(folder / "sample_order.json");
  ASSERT_EQ(written.size(), 4U);
  EXPECT_EQ(written[0]["step"], 1);
  EXPECT_EQ(written[3]["step"], 2);
  EXPECT_EQ(written[1]["samples"].size(), 4U);
}

}  // namespace
}  // namespace cantilever
