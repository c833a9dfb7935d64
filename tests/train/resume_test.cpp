// Exact continuation: straight == part + resume + part, bit for bit.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>

#include <fstream>

#include "cantilever/base/error.h"
#include "cantilever/base/file.h"
#include "cantilever/train/checkpoint_folders.h"
#include "cantilever/train/run.h"
#include "cantilever/train/trainer.h"
#include "tests/support/temporary_folder.h"
#include "tests/train/tiny_run.h"

namespace cantilever {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

// Loss, gradient norm, learning rate and evaluation loss of every log entry, exactly.
std::string history_of(const fs::path& output) {
  std::string text;
  const Json state = read_json(output / "trainer_state.json");
  for (const Json& entry : state["log_history"]) {
    Json kept;
    for (const char* key : {"step", "epoch", "loss", "grad_norm", "learning_rate", "eval_loss"}) {
      if (entry.contains(key)) kept[key] = entry[key];
    }
    if (kept.size() > 2) text += dump_json(kept, -1) + "\n";
  }
  return text;
}

void expect_same_run(const fs::path& a, const fs::path& b, const std::string& last_checkpoint) {
  EXPECT_EQ(history_of(a), history_of(b));
  EXPECT_TRUE(read_file(a / "model.safetensors") == read_file(b / "model.safetensors"));
  for (const char* name : {"model.safetensors", "optimizer.safetensors", "cantilever_state.json"}) {
    EXPECT_TRUE(read_file(a / last_checkpoint / name) == read_file(b / last_checkpoint / name))
        << name;
  }
}

// Runs straight to the end, then again up to `at` and on from there.
void compare_with_resumed(TrainOptions options, const fs::path& folder, int64_t at) {
  const std::string last = concat("checkpoint-", options.max_steps);
  options.output_dir = (folder / "straight").string();
  options.save_steps = static_cast<double>(at);
  ASSERT_EQ(run_train(options), 0);
  options.output_dir = (folder / "resumed").string();
  options.resume_from_checkpoint = (folder / "straight" / concat("checkpoint-", at)).string();
  ASSERT_EQ(run_train(options), 0);
  expect_same_run(folder / "straight", folder / "resumed", last);
}

TEST(Resume, MidEpochWithDropoutAndAccumulation) {
  const test::TemporaryFolder folder;
  test::TinyRun run(folder.path(), 30, 0.1);  // 8 batches an epoch: steps of 3 + 3 + 2
  run.options.gradient_accumulation_steps = 3;
  run.options.max_steps = 20;
  run.options.weight_decay = 0.1;
  run.options.warmup_steps = 4;
  run.options.logging_steps = 4;  // the checkpoint at 10 lies inside a log window
  compare_with_resumed(run.options, folder.path(), 10);
}

TEST(Resume, AtTheEndOfAnEpochBeforeWhatFollowsIt) {
  const test::TemporaryFolder folder;
  test::TinyRun run(folder.path(), 16, 0.1);  // 4 steps an epoch
  run.options.max_steps = 12;
  run.options.logging_strategy = "epoch";
  run.options.eval_strategy = "epoch";
  compare_with_resumed(run.options, folder.path(), 4);
}

TEST(Resume, WithLoaderThreadsAndAnotherSchedule) {
  const test::TemporaryFolder folder;
  test::TinyRun run(folder.path(), 22, 0.1);
  run.options.max_steps = 9;
  run.options.dataloader_num_workers = 2;
  run.options.lr_scheduler_type = "cosine";
  compare_with_resumed(run.options, folder.path(), 4);
}

TEST(Resume, FrozenTowers) {
  const test::TemporaryFolder folder;
  test::TinyRun run(folder.path(), 22, 0.1);
  run.options.max_steps = 5;
  run.options.freeze_vision_model = true;
  compare_with_resumed(run.options, folder.path(), 3);
  run.options.freeze_vision_model = false;
  run.options.output_dir = (folder / "other").string();
  run.options.resume_from_checkpoint = (folder / "straight" / "checkpoint-3").string();
  EXPECT_THAT([&] { run_train(run.options); }, ThrowsMessage<Error>(HasSubstr("frozen")));
}

TEST(Resume, ReplacedRowsAreRememberedOnce) {
  const test::TemporaryFolder folder;
  test::TinyRun run(folder.path(), 16, 0.0);
  std::ofstream(folder / "train" / "3.png") << "not a picture";
  run.options.max_steps = 8;
  EXPECT_THAT([&] { run_train(run.options); }, ThrowsMessage<Error>(HasSubstr("3.png")));
  run.options.on_bad_sample = "skip";
  run.options.output_dir = (folder / "skip").string();
  compare_with_resumed(run.options, folder.path(), 5);
  const Json state =
      read_json(folder / "resumed" / "checkpoint-8" / "cantilever_state.json")["bad_samples"];
  ASSERT_EQ(state.size(), 1U);
  EXPECT_EQ(state[0]["row"], 3);
}

// Raises the signal while a step is under way.
struct RaiseAt : StepObserver {
  RaiseAt(int64_t step, int number) : at(step), signal(number) {}
  void micro_batch(int64_t step, const Batch&, const BatchTensors&,
                   const ContrastiveOutput&) override {
    if (step == at) ::raise(signal);
  }
  void gradients(int64_t, const FlatParameters&) override {}
  int64_t at;
  int signal;
};

TEST(Resume, ASignalFinishesTheStepSavesAndGoesOnExactly) {
  const test::TemporaryFolder folder;
  test::TinyRun run(folder.path(), 22, 0.1);
  run.options.save_steps = 100;
  run.options.output_dir = (folder / "straight").string();
  ASSERT_EQ(run_train(run.options), 0);

  run.options.output_dir = (folder / "stopped").string();
  {
    const Workbench bench = open_workbench(run.options, {});
    Sinks sinks;
    Trainer trainer(run.options, bench, sinks, {});
    RaiseAt raise(3, SIGTERM);
    trainer.observe(&raise);
    EXPECT_EQ(trainer.run().stop_signal, SIGTERM);
    EXPECT_EQ(trainer.state().global_step, 3);
  }
  EXPECT_FALSE(fs::exists(folder / "stopped" / "model.safetensors"));
  run.options.resume_from_checkpoint = "True";
  ASSERT_EQ(run_train(run.options), 0);
  expect_same_run(folder / "straight", folder / "stopped", "checkpoint-6");
}

// Raises the signal while the given step's evaluation is under way.
struct RaiseInEvaluation : Sink {
  RaiseInEvaluation(int64_t step, int number) : at(step), signal(number) {}
  void log(const LogEntry&) override {}
  void advance_work(int64_t done, const std::string& tail) override {
    if (done != at || raised || tail.find("evaluating 1/") == std::string::npos) return;
    raised = true;
    ::raise(signal);
  }
  int64_t at;
  int signal;
  bool raised = false;
};

// Straight to the end; and stopped in an evaluation, stopped again in the one that makes it up, on.
void compare_with_evaluation_cut_off(TrainOptions options, const fs::path& folder, int64_t at) {
  options.output_dir = (folder / "straight").string();
  ASSERT_EQ(run_train(options), 0);
  options.output_dir = (folder / "stopped").string();
  fs::path checkpoint;
  for (int call = 0; call < 2; ++call) {
    const Workbench bench = open_workbench(options, checkpoint);
    Sinks sinks;
    sinks.add(std::make_unique<RaiseInEvaluation>(at, SIGINT));
    Trainer trainer(options, bench, sinks, checkpoint);
    testing::internal::CaptureStderr();
    EXPECT_EQ(trainer.run().stop_signal, SIGINT);
    EXPECT_EQ(trainer.state().global_step, at);
    checkpoint = folder / "stopped" / concat("checkpoint-", at);
    EXPECT_THAT(testing::internal::GetCapturedStderr(),
                HasSubstr(concat("continue with --resume_from_checkpoint ", checkpoint.string())));
  }
  options.resume_from_checkpoint = checkpoint.string();
  ASSERT_EQ(run_train(options), 0);
  EXPECT_THAT(history_of(folder / "straight"), HasSubstr("eval_loss"));
  EXPECT_EQ(history_of(folder / "straight"), history_of(folder / "stopped"));
  EXPECT_TRUE(read_file(folder / "straight" / "model.safetensors") ==
              read_file(folder / "stopped" / "model.safetensors"));
}

struct CutOffEvaluation : testing::TestWithParam<std::tuple<std::string, std::string, int>> {};

TEST_P(CutOffEvaluation, IsMadeUp) {
  const auto& [evaluate, save, at] = GetParam();
  const test::TemporaryFolder folder;
  test::TinyRun run(folder.path(), 16, 0.1);  // 4 steps an epoch
  run.options.max_steps = 8;
  run.options.eval_strategy = evaluate;
  run.options.eval_steps = 3;
  run.options.save_strategy = save;
  run.options.save_steps = 4;
  run.options.logging_steps = 3;
  compare_with_evaluation_cut_off(run.options, folder.path(), at);
}

INSTANTIATE_TEST_SUITE_P(Resume, CutOffEvaluation,
                         testing::Values(std::tuple("epoch", "no", 4), std::tuple("epoch", "no", 8),
                                         std::tuple("epoch", "steps", 4),
                                         std::tuple("epoch", "epoch", 8),
                                         std::tuple("steps", "no", 3), std::tuple("steps", "no", 8),
                                         std::tuple("steps", "steps", 8)));

TEST(Resume, WhatMakesAContinuationInexactIsNamed) {
  TrainOptions options;
  const ResumeState then = ResumeState::of_run(options, 20);
  EXPECT_TRUE(then.differences(ResumeState::of_run(options, 20)).empty());
  options.dataloader_drop_last = true;
  options.on_bad_sample = "skip";
  options.seed = 7;
  const ResumeState back = ResumeState::from_json(then.to_json(), "state");
  EXPECT_THAT(back.differences(ResumeState::of_run(options, 20)),
              testing::UnorderedElementsAre("seed: 42 then, 7 now", "data_seed: 42 then, 7 now",
                                            "on_bad_sample: fail then, skip now",
                                            "dataloader_drop_last: False then, True now"));
}

TEST(Resume, ACheckpointIsAModelFolderAndAFullOneHasAllFiles) {
  const test::TemporaryFolder folder;
  test::TinyRun run(folder.path(), 12, 0.0);
  run.options.max_steps = 2;
  run.options.save_steps = 1;
  run.options.save_total_limit = 1;
  ASSERT_EQ(run_train(run.options), 0);
  const fs::path checkpoint = folder / "out" / "checkpoint-2";
  EXPECT_FALSE(fs::exists(folder / "out" / "checkpoint-1"));
  EXPECT_EQ(why_incomplete(checkpoint), "");
  for (const char* name :
       {"config.json", "model.safetensors", "optimizer.safetensors", "trainer_state.json",
        "cantilever_state.json", "tokenizer.json", "tokenizer_config.json",
        "preprocessor_config.json", "training_args.json", "complete.json"}) {
    EXPECT_TRUE(fs::exists(checkpoint / name)) << name;
  }
  run.options.model_name_or_path = checkpoint.string();
  run.options.output_dir = (folder / "next").string();
  EXPECT_EQ(run_train(run.options), 0);
}

// A file size limit stands in for a full disk: the third checkpoint cannot be written.
TEST(Resume, AFailedWriteLeavesTheLastCheckpointUsable) {
  const test::TemporaryFolder folder;
  test::TinyRun run(folder.path(), 12, 0.0);
  run.options.max_steps = 2;
  ASSERT_EQ(run_train(run.options), 0);
  const auto handler = ::signal(SIGXFSZ, SIG_IGN);
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
  rlimit small = before;
  small.rlim_cur = 300000;
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &small), 0);
  run.options.max_steps = 3;
  std::string message;
  try {
    run_train(run.options);
  } catch (const Error& problem) {
    message = problem.what();
  }
  ::setrlimit(RLIMIT_FSIZE, &before);
  ::signal(SIGXFSZ, handler);
  EXPECT_THAT(message, HasSubstr("checkpoint-3 was not written"));
  EXPECT_EQ(list_checkpoints(folder / "out").size(), 1U);
  EXPECT_EQ(why_incomplete(folder / "out" / "checkpoint-2"), "");
  for (const auto& entry : fs::directory_iterator(folder / "out")) {
    EXPECT_EQ(entry.path().string().find(".tmp-"), std::string::npos) << entry.path();
  }
  EXPECT_EQ(run_train(run.options), 0);
}

TEST(Resume, AFinishedRunHasNothingMoreToDo) {
  const test::TemporaryFolder folder;
  test::TinyRun run(folder.path(), 12, 0.0);
  run.options.max_steps = 3;
  ASSERT_EQ(run_train(run.options), 0);
  const std::string weights = read_file(folder / "out" / "model.safetensors");
  ASSERT_EQ(run_train(run.options), 0);  // no --overwrite_output_dir: continues
  EXPECT_TRUE(read_file(folder / "out" / "model.safetensors") == weights);
  EXPECT_EQ(read_json(folder / "out" / "train_results.json")["train_loss"], 0.0);
}

TEST(Resume, ADamagedStateIsANamedError) {
  const test::TemporaryFolder folder;
  test::TinyRun run(folder.path(), 12, 0.0);
  run.options.max_steps = 2;
  ASSERT_EQ(run_train(run.options), 0);
  const fs::path checkpoint = folder / "out" / "checkpoint-2";
  const fs::path state = checkpoint / "cantilever_state.json";
  std::string text = read_file(state);
  const size_t place = text.find("\"epoch\"");
  ASSERT_NE(place, std::string::npos);
  text[place + 1] = 'E';  // the size stays
  std::ofstream(state) << text;
  run.options.max_steps = 4;
  EXPECT_THAT([&] { run_train(run.options); },
              ThrowsMessage<Error>(HasSubstr("cantilever_state.json: 'epoch' is missing")));
}

}  // namespace
}  // namespace cantilever
