// A whole run: files, keys, named errors.
#include "cantilever/train/run.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cmath>
#include <fstream>
#include <limits>
#include <set>
#include <thread>

#include "cantilever/base/error.h"
#include "cantilever/base/file.h"
#include "cantilever/train/embedder.h"
#include "cantilever/train/evaluator.h"
#include "cantilever/train/trainer.h"
#include "tests/support/temporary_folder.h"
#include "tests/train/tiny_run.h"

namespace cantilever {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;
using Keys = std::set<std::string>;

Keys keys_of(const fs::path& path) {
  Keys keys;
  const Json json = read_json(path);
  for (const auto& [key, value] : json.items()) keys.insert(key);
  return keys;
}

TEST(Run, TrainEvaluatePredictWritesTheFiles) {
  const test::TemporaryFolder folder;
  test::TinyRun run(folder.path(), 22, 0.0);
  run.options.do_eval = run.options.do_predict = true;
  run.options.eval_strategy = "steps";
  run.options.eval_steps = 4;
  run.options.report_to = {"tensorboard"};
  run.options.dump_sample_order = true;
  ASSERT_EQ(run_train(run.options), 0);
  const fs::path out = folder / "out";
  for (const char* name :
       {"config.json", "model.safetensors", "tokenizer.json", "tokenizer_config.json",
        "preprocessor_config.json", "training_args.json", "README.md", "sample_order.json"}) {
    EXPECT_TRUE(fs::exists(out / name)) << name;
  }
  EXPECT_EQ(keys_of(out / "train_results.json"),
            (Keys{"epoch", "total_flos", "train_loss", "train_runtime", "train_samples_per_second",
                  "train_steps_per_second"}));
  EXPECT_EQ(keys_of(out / "validation_results.json"),
            (Keys{"epoch", "eval_loss", "eval_runtime", "eval_samples_per_second",
                  "eval_steps_per_second"}));
  EXPECT_EQ(
      keys_of(out / "test_results.json"),
      (Keys{"test_loss", "test_runtime", "test_samples_per_second", "test_steps_per_second"}));
  EXPECT_EQ(keys_of(out / "all_results.json").size(), 14U);
  const Json history = read_json(out / "trainer_state.json")["log_history"];
  std::vector<int64_t> evaluated;
  for (const Json& entry : history) {
    if (entry.contains("eval_loss")) evaluated.push_back(entry["step"].get<int64_t>());
  }
  EXPECT_EQ(evaluated, (std::vector<int64_t>{4, 6}));  // and at the end
  EXPECT_TRUE(history.back().contains("train_loss"));
  std::string events;
  for (const auto& entry : fs::recursive_directory_iterator(out / "runs")) {
    if (entry.is_regular_file()) events += read_file(entry.path());
  }
  for (const char* tag :
       {"train/loss", "train/grad_norm", "train/learning_rate", "train/epoch", "train/logit_scale",
        "train/data_wait_share", "eval/loss", "train/train_runtime", "model_config"}) {
    EXPECT_THAT(events, HasSubstr(tag));
  }
}

TEST(Run, EvaluationAloneHasTransformersKeys) {
  const test::TemporaryFolder folder;
  test::TinyRun run(folder.path(), 12, 0.0);
  run.options.do_train = false;
  run.options.do_eval = run.options.do_predict = true;
  ASSERT_EQ(run_train(run.options), 0);
  EXPECT_EQ(keys_of(folder / "out" / "validation_results.json"),
            (Keys{"epoch", "eval_loss", "eval_model_preparation_time", "eval_runtime",
                  "eval_samples_per_second", "eval_steps_per_second"}));
  EXPECT_THAT(read_file(folder / "out" / "validation_results.json"), HasSubstr("\"epoch\": 0,"));
  EXPECT_FALSE(fs::exists(folder / "out" / "trainer_state.json"));
  EXPECT_FALSE(fs::exists(folder / "out" / "model.safetensors"));
}

TEST(Run, LossFallsAndTheSameCommandGivesTheSameBytes) {
  const test::TemporaryFolder folder;
  test::TinyRun run(folder.path(), 16, 0.1);
  run.options.max_steps = 30;
  run.options.per_device_train_batch_size = 8;
  run.options.save_strategy = "no";
  ASSERT_EQ(run_train(run.options), 0);
  const Json history = read_json(folder / "out" / "trainer_state.json")["log_history"];
  EXPECT_LT(history[29]["loss"].get<double>(), 0.8 * history[0]["loss"].get<double>());
  const std::string weights = read_file(folder / "out" / "model.safetensors");
  run.options.overwrite_output_dir = true;
  ASSERT_EQ(run_train(run.options), 0);
  EXPECT_TRUE(weights == read_file(folder / "out" / "model.safetensors"));
}

// Makes the first step slow.
struct SlowStart : StepObserver {
  void micro_batch(int64_t step, const Batch&, const BatchTensors&,
                   const ContrastiveOutput&) override {
    if (step == 1) std::this_thread::sleep_for(std::chrono::milliseconds(800));
  }
  void gradients(int64_t, const FlatParameters&) override {}
};

// Steps per second times the seconds of the whole run: 6 when the warm-up counts.
double steps_by_rate(const TrainOptions& options) {
  const Workbench bench = open_workbench(options, {});
  Sinks sinks;
  Trainer trainer(options, bench, sinks, {});
  SlowStart slow;
  trainer.observe(&slow);
  const Json metrics = trainer.run().metrics;
  return metrics["train_steps_per_second"].get<double>() * metrics["train_runtime"].get<double>();
}

TEST(Run, ThroughputLeavesOutTheWarmUp) {
  const test::TemporaryFolder folder;
  test::TinyRun run(folder.path(), 16, 0.0);
  run.options.save_strategy = "no";
  EXPECT_NEAR(steps_by_rate(run.options), 6, 0.1);
  run.options.throughput_warmup_steps = 2;
  EXPECT_GT(steps_by_rate(run.options), 6.3);
  run.options.throughput_warmup_steps = 6;  // nothing would remain
  testing::internal::CaptureStderr();
  EXPECT_NEAR(steps_by_rate(run.options), 6, 0.1);
  EXPECT_THAT(testing::internal::GetCapturedStderr(),
              HasSubstr("--throughput_warmup_steps 6 is ignored: only 6 steps"));
}

TEST(Run, NoStepsAreOneStepAtTheEndOfTheSchedule) {
  const test::TemporaryFolder folder;
  test::TinyRun run(folder.path(), 16, 0.0);
  run.options.max_steps = 0;
  run.options.num_train_epochs = 2;
  ASSERT_EQ(run_train(run.options), 0);
  const Json state = read_json(folder / "out" / "trainer_state.json");
  EXPECT_EQ(state["global_step"], 1);
  EXPECT_EQ(state["max_steps"], 0);
  EXPECT_EQ(state["num_train_epochs"], 2);
  EXPECT_EQ(state["log_history"][0]["learning_rate"], 0.0);
}

TEST(Run, ABrokenOldReportDoesNotEndTheRun) {
  const test::TemporaryFolder folder;
  test::TinyRun run(folder.path(), 12, 0.0);
  run.options.max_steps = 1;
  run.options.do_eval = true;
  run.options.overwrite_output_dir = true;
  fs::create_directories(folder / "out");
  for (const char* text : {"{\"train_loss\": ", "[1]"}) {
    std::ofstream(folder / "out" / "all_results.json") << text;
    ASSERT_EQ(run_train(run.options), 0);
    EXPECT_TRUE(fs::exists(folder / "out" / "trainer_state.json"));
    EXPECT_TRUE(keys_of(folder / "out" / "all_results.json").contains("train_loss"));
    EXPECT_TRUE(keys_of(folder / "out" / "all_results.json").contains("eval_loss"));
  }
  // The state comes before the reports: one that cannot be written does not cost it.
  fs::remove(folder / "out" / "trainer_state.json");
  fs::remove(folder / "out" / "train_results.json");
  fs::create_directories(folder / "out" / "train_results.json" / "in the way");
  EXPECT_THROW(run_train(run.options), Error);
  EXPECT_TRUE(fs::exists(folder / "out" / "trainer_state.json"));
}

TEST(Run, WeightsThatOverflowedAreNotWritten) {
  for (const char* strategy : {"steps", "no"}) {
    const test::TemporaryFolder folder;
    test::TinyRun run(folder.path(), 16, 0.0);
    run.options.learning_rate = 1e39;
    run.options.lr_scheduler_type = "constant";
    run.options.max_steps = 1;
    run.options.save_strategy = strategy;
    EXPECT_THAT([&] { run_train(run.options); },
                ThrowsMessage<Error>(HasSubstr("step 1: the weights or the optimiser's moments are "
                                               "not finite")));
    EXPECT_FALSE(fs::exists(folder / "out" / "checkpoint-1"));
    EXPECT_FALSE(fs::exists(folder / "out" / "model.safetensors"));
    EXPECT_TRUE(fs::exists(folder / "out" / "trainer_state.json"));
  }
}

// Old checkpoints with higher numbers neither push the new ones out nor are they named as theirs.
TEST(Run, AFreshRunKeepsItsOwnCheckpoints) {
  const test::TemporaryFolder folder;
  test::TinyRun run(folder.path(), 12, 0.0);
  run.options.max_steps = 5;
  run.options.save_steps = 5;
  ASSERT_EQ(run_train(run.options), 0);
  fs::copy(folder / "out" / "checkpoint-5", folder / "out" / "checkpoint-3",
           fs::copy_options::recursive);
  run.options.overwrite_output_dir = true;
  run.options.max_steps = 4;
  run.options.save_steps = 2;
  const auto left = [&] {
    Keys names;
    for (const auto& entry : fs::directory_iterator(folder / "out")) {
      const std::string name = entry.path().filename().string();
      if (name.starts_with("checkpoint-")) names.insert(name);
    }
    return names;
  };
  testing::internal::CaptureStderr();
  ASSERT_EQ(run_train(run.options), 0);
  EXPECT_THAT(testing::internal::GetCapturedStderr(),
              HasSubstr("holds checkpoint-3, checkpoint-5 of another run; they stay"));
  EXPECT_EQ(left(), (Keys{"checkpoint-2", "checkpoint-3", "checkpoint-4", "checkpoint-5"}));
  fs::remove_all(folder / "out" / "checkpoint-2");
  fs::remove_all(folder / "out" / "checkpoint-4");
  run.options.save_total_limit = 2;
  ASSERT_EQ(run_train(run.options), 0);
  EXPECT_EQ(left(), (Keys{"checkpoint-2", "checkpoint-4"}));
}

TEST(Run, TheNameOfARunStandsInLogAndCard) {
  const test::TemporaryFolder folder;
  test::TinyRun run(folder.path(), 12, 0.0);
  run.options.max_steps = 1;
  run.options.run_name = "first try";
  run.options.config_name = "elsewhere";  // noted by the command line already
  testing::internal::CaptureStderr();
  ASSERT_EQ(run_train(run.options), 0);
  const std::string log = testing::internal::GetCapturedStderr();
  EXPECT_THAT(log, HasSubstr("run: first try"));
  EXPECT_THAT(log, testing::Not(HasSubstr("config_name")));
  EXPECT_THAT(read_file(folder / "out" / "README.md"), HasSubstr("- run_name: \"first try\""));
}

TEST(Run, BatchesAheadAreForEachWorker) {
  const test::TemporaryFolder folder;
  test::TinyRun run(folder.path(), 12, 0.0);
  const Workbench bench = open_workbench(run.options, {});
  run.options.dataloader_num_workers = 3;
  EXPECT_EQ(loader_options(run.options, bench, true).prefetch, 6);
  run.options.dataloader_prefetch_factor = 4;
  EXPECT_EQ(loader_options(run.options, bench, true).prefetch, 12);
  run.options.dataloader_num_workers = 0;
  EXPECT_EQ(loader_options(run.options, bench, true).prefetch, 4);
  run.options.dataloader_prefetch_factor = std::numeric_limits<int64_t>::max();
  EXPECT_THAT(
      [&] { loader_options(run.options, bench, true); },
      ThrowsMessage<Error>(HasSubstr("--dataloader_prefetch_factor is 9223372036854775807")));
}

TEST(Run, ADivergedRunStopsAndSaysWhere) {
  const test::TemporaryFolder folder;
  test::TinyRun run(folder.path(), 16, 0.0);
  run.options.learning_rate = 1e20;
  run.options.save_steps = 1;
  run.options.lr_scheduler_type = "constant";
  EXPECT_THAT([&] { run_train(run.options); },
              ThrowsMessage<Error>(HasSubstr("the run has diverged and stops")));
  const Json history = read_json(folder / "out" / "trainer_state.json")["log_history"];
  const Json& last = history.back();
  EXPECT_FALSE(std::isfinite(last["loss"].get<double>()) &&
               std::isfinite(last["grad_norm"].get<double>()));
  EXPECT_FALSE(fs::exists(folder / "out" / "model.safetensors"));
  run.options.logging_nan_inf_filter = true;  // as Transformers: goes on to the end
  run.options.overwrite_output_dir = true;
  EXPECT_EQ(run_train(run.options), 0);
}

TEST(Run, NamedErrorsBeforeAnythingIsWritten) {
  const test::TemporaryFolder folder;
  const test::TinyRun good(folder.path(), 12, 0.0);
  const auto expect_error = [&](const TrainOptions& options, const char* text) {
    EXPECT_THAT([&] { run_train(options); }, ThrowsMessage<Error>(HasSubstr(text)));
    EXPECT_FALSE(fs::exists(folder / "out")) << text;
  };
  TrainOptions options = good.options;
  options.max_seq_length = 513;
  expect_error(options, "--max_seq_length is 513");
  options = good.options;
  options.do_predict = true;
  options.test_file.clear();
  expect_error(options, "there is no test split, only train, validation");
  options = good.options;
  options.do_train = false;
  expect_error(options, "nothing to do");
  options = good.options;
  options.model_name_or_path = (folder / "nowhere").string();
  expect_error(options, "is no folder");
  options = good.options;
  options.resume_from_checkpoint = (folder / "checkpoint-1").string();
  expect_error(options, "there is no such folder");
  options = good.options;
  options.report_to = {"wandb"};
  expect_error(options, "--report_to is 'wandb'");
  options = good.options;
  options.device = "hpu";
  expect_error(options, "--device is 'hpu'");
}

TEST(Run, ATokenizerTooLargeForTheModelIsRefused) {
  const test::TemporaryFolder folder;
  test::TinyRun run(folder.path(), 12, 0.0);
  test::Draws draws(99);
  int count = 0;
  const auto large = train_tokenizer(
      [&]() -> std::optional<std::string> {
        if (count++ == 400) return std::nullopt;
        std::string text;
        for (int i = 0; i < 30; ++i) text += static_cast<char>('a' + draws.below(26));
        return text;
      },
      600);
  fs::create_directories(folder / "tokenizer");
  large->save(folder / "tokenizer");
  run.options.tokenizer_name = (folder / "tokenizer").string();
  EXPECT_THAT([&] { run_train(run.options); }, ThrowsMessage<Error>(HasSubstr("word embeddings")));
}

TEST(Evaluator, MeanOverRowsAndTheFilter) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  EXPECT_DOUBLE_EQ(mean_loss({{8, 2.0}, {2, 1.0}}, false), 1.8);
  EXPECT_TRUE(std::isnan(mean_loss({{8, nan}, {2, 1.0}}, false)));
  EXPECT_DOUBLE_EQ(mean_loss({{8, nan}, {2, 1.0}}, true), 1.0);
  EXPECT_TRUE(std::isnan(mean_loss({{8, nan}}, true)));
}

TEST(Embedder, RowsInOrderForAnyBatchSize) {
  const test::TemporaryFolder folder;
  test::TinyRun run(folder.path(), 11, 0.1);
  // Row 4 repeats row 2.
  fs::copy_file(folder / "train" / "2.png", folder / "train" / "4.png",
                fs::copy_options::overwrite_existing);
  const Workbench bench = open_workbench(run.options, {});
  LoaderOptions loader = loader_options(run.options, bench, true);
  const auto embed = [&](int64_t batch) {
    loader.batch_size = batch;
    return embed_split(*bench.model, bench.split("train"), bench.tokenizer, loader);
  };
  const SplitEmbeddings a = embed(11);
  const SplitEmbeddings b = embed(4);
  ASSERT_EQ(a.text.size(0), 11);
  EXPECT_LT((a.text - b.text).abs().max().item<float>(), 1e-5);
  EXPECT_LT((a.image - b.image).abs().max().item<float>(), 1e-5);
  EXPECT_LT((a.cross - b.cross).abs().max().item<float>(), 1e-5);
  EXPECT_LT((a.text.norm(2, 1) - 1).abs().max().item<float>(), 1e-5);
  EXPECT_EQ(a.image_ids[4], a.image_ids[2]);
  EXPECT_NE(a.image_ids[3], a.image_ids[2]);
  EXPECT_EQ(a.image_ids, b.image_ids);
}

}  // namespace
}  // namespace cantilever
