#include "cantilever/data/loader/worker_controller.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace cantilever {
namespace {

// A trainer that takes `trainer_seconds` an image and threads of which at most `cpus` run at once,
// each `thread_seconds` an image.
struct Model {
  double trainer_seconds = 0;
  double thread_seconds = 0;
  double cpus = 64;

  WorkerController::Window window(int threads) const {
    const double making = thread_seconds / std::min<double>(threads, cpus);
    const double one = std::max(making, trainer_seconds);
    return {100 * one, 100 * (one - trainer_seconds), 100};
  }
};

int run(WorkerController& controller, const Model& model, int windows) {
  for (int i = 0; i < windows; ++i) controller.decide(model.window(controller.threads()));
  return controller.threads();
}

TEST(WorkerController, FindsTheNumberThatFeedsTheTrainer) {
  for (const int needed : {1, 2, 3, 7}) {
    for (const int first : {1, 4, 8}) {
      WorkerController controller(first, 8);
      const Model model{1.0, needed - 0.1};
      // Parking takes four quiet windows each.
      EXPECT_EQ(run(controller, model, 60), needed) << "from " << first;
      EXPECT_TRUE(controller.settled());
    }
  }
}

TEST(WorkerController, GivesUpThreadsThatDoNotHelp) {
  WorkerController controller(1, 8);
  EXPECT_EQ(run(controller, {0.1, 10.0, 2}, 60), 2);
  EXPECT_TRUE(controller.settled());
}

TEST(WorkerController, StaysWithinItsBounds) {
  WorkerController most(1, 3);
  EXPECT_EQ(run(most, {0.1, 10.0}, 60), 3);
  WorkerController least(2, 3);
  EXPECT_EQ(run(least, {10.0, 0.001}, 60), 1);
}

TEST(WorkerController, FollowsALoadThatChanges) {
  WorkerController controller(1, 8);
  EXPECT_EQ(run(controller, {1.0, 3.9}, 60), 4);
  EXPECT_EQ(run(controller, {1.0, 0.1}, 2 * WorkerController::kFreshWindows), 1);  // cached
  EXPECT_EQ(run(controller, {1.0, 1.9}, 2 * WorkerController::kFreshWindows), 2);
}

TEST(WorkerController, AWindowWithoutTimeSaysNothing) {
  WorkerController controller(2, 8);
  EXPECT_EQ(controller.decide({0, 0, 0}), 2);
}

}  // namespace
}  // namespace cantilever
