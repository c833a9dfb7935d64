#include "cantilever/train/checkpoint_folders.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>

#include "cantilever/base/error.h"
#include "tests/support/temporary_folder.h"

namespace cantilever {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

void write(const fs::path& path, const std::string& text) {
  std::ofstream(path) << text;
}

fs::path make_checkpoint(const fs::path& output, int step, bool complete = true) {
  const fs::path folder = output / ("checkpoint-" + std::to_string(step));
  fs::create_directories(folder);
  write(folder / "weights", "12345");
  if (complete) write(folder / kCompleteMarker, R"({"files": {"weights": 5}})");
  return folder;
}

TrainOptions options_for(const fs::path& output) {
  TrainOptions options;
  options.output_dir = output.string();
  options.do_train = true;
  return options;
}

TEST(CheckpointFolders, SortedByNumber) {
  const test::TemporaryFolder folder;
  for (const int step : {9, 100, 20}) make_checkpoint(folder.path(), step);
  fs::create_directories(folder / "checkpoint-last");
  fs::create_directories(folder / "checkpoint-200.tmp-1");
  write(folder / "checkpoint-7", "a file");
  const auto found = list_checkpoints(folder.path());
  ASSERT_EQ(found.size(), 3U);
  EXPECT_EQ(found[0].step, 9);
  EXPECT_EQ(found[2].step, 100);
}

TEST(CheckpointFolders, IncompleteOnesArePassedOver) {
  const test::TemporaryFolder folder;
  const fs::path good = make_checkpoint(folder.path(), 9);
  make_checkpoint(folder.path(), 20, false);
  const fs::path cut = make_checkpoint(folder.path(), 30);
  write(cut / "weights", "123");
  EXPECT_THAT(why_incomplete(cut), HasSubstr("weights has 3 bytes, not 5"));
  fs::remove(cut / "weights");
  EXPECT_THAT(why_incomplete(cut), HasSubstr("weights is missing"));
  EXPECT_EQ(last_complete_checkpoint(folder.path()), good);
  write(good / kCompleteMarker, "{");
  EXPECT_EQ(last_complete_checkpoint(folder.path()), std::nullopt);
}

TEST(CheckpointFolders, TheReferencesRule) {
  const test::TemporaryFolder folder;
  TrainOptions options = options_for(folder / "out");
  EXPECT_EQ(find_checkpoint(options), fs::path());  // nothing there yet
  fs::create_directories(folder / "out");
  EXPECT_EQ(find_checkpoint(options), fs::path());  // empty
  write(folder / "out" / "notes.txt", "mine");
  EXPECT_THAT([&] { find_checkpoint(options); },
              ThrowsMessage<Error>(HasSubstr("give --overwrite_output_dir")));
  const fs::path last = make_checkpoint(folder / "out", 4);
  EXPECT_EQ(find_checkpoint(options), last);
  options.overwrite_output_dir = true;
  EXPECT_EQ(find_checkpoint(options), fs::path());
  options.resume_from_checkpoint = "True";
  EXPECT_EQ(find_checkpoint(options), last);
  options.resume_from_checkpoint = "False";
  EXPECT_EQ(find_checkpoint(options), fs::path());
  options.do_train = false;
  options.resume_from_checkpoint = "";
  options.overwrite_output_dir = false;
  EXPECT_EQ(find_checkpoint(options), fs::path());
}

TEST(CheckpointFolders, AMistypedPathIsAnErrorAndMakesNoFolder) {
  const test::TemporaryFolder folder;
  TrainOptions options = options_for(folder / "out");
  options.resume_from_checkpoint = (folder / "out" / "checkpoint-5").string();
  EXPECT_THAT([&] { find_checkpoint(options); },
              ThrowsMessage<Error>(HasSubstr("there is no such folder")));
  EXPECT_FALSE(fs::exists(folder / "out"));
  options.resume_from_checkpoint = "True";
  EXPECT_THAT([&] { find_checkpoint(options); },
              ThrowsMessage<Error>(HasSubstr("no complete checkpoint")));
  const fs::path foreign = folder / "checkpoint-3";
  fs::create_directories(foreign);
  write(foreign / "optimizer.pt", "");
  options.resume_from_checkpoint = foreign.string();
  EXPECT_THAT([&] { find_checkpoint(options); },
              ThrowsMessage<Error>(HasSubstr("written by another program")));
}

TEST(CheckpointFolders, RotationIsByNumberAndKeepsTheNewest) {
  const test::TemporaryFolder folder;
  for (const int step : {8, 9, 10, 100}) make_checkpoint(folder.path(), step);
  rotate_checkpoints(folder.path(), std::nullopt, folder / "checkpoint-100");
  EXPECT_EQ(list_checkpoints(folder.path()).size(), 4U);
  rotate_checkpoints(folder.path(), 2, folder / "checkpoint-100");
  auto left = list_checkpoints(folder.path());
  ASSERT_EQ(left.size(), 2U);
  EXPECT_EQ(left[0].step, 10);
  // A folder with a higher number from an earlier run does not push the new one out.
  rotate_checkpoints(folder.path(), 1, folder / "checkpoint-10");
  left = list_checkpoints(folder.path());
  ASSERT_EQ(left.size(), 1U);
  EXPECT_EQ(left[0].step, 10);
}

TEST(CheckpointFolders, RotationRemovesAnotherRunsFirst) {
  const test::TemporaryFolder folder;
  const auto steps = [&] {
    std::vector<int64_t> found;
    for (const auto& entry : list_checkpoints(folder.path())) found.push_back(entry.step);
    return found;
  };
  using Steps = std::vector<int64_t>;
  for (const int step : {2, 4, 6, 30, 60}) make_checkpoint(folder.path(), step);
  rotate_checkpoints(folder.path(), 4, folder / "checkpoint-6");
  EXPECT_EQ(steps(), (Steps{2, 4, 6, 60}));
  rotate_checkpoints(folder.path(), 3, folder / "checkpoint-6");
  EXPECT_EQ(steps(), (Steps{2, 4, 6}));
  rotate_checkpoints(folder.path(), 2, folder / "checkpoint-6", {4});
  EXPECT_EQ(steps(), (Steps{2, 6}));
}

TEST(CheckpointFolders, LeftoversOfDeadProcessesGo) {
  const test::TemporaryFolder folder;
  const fs::path dead = folder / "checkpoint-5.tmp-999999999";
  const fs::path alive = folder / ("checkpoint-6.tmp-" + std::to_string(::getppid()));
  fs::create_directories(dead);
  fs::create_directories(alive);
  remove_leftovers(folder.path());
  EXPECT_FALSE(fs::exists(dead));
  EXPECT_TRUE(fs::exists(alive));
}

}  // namespace
}  // namespace cantilever
