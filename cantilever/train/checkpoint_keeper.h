#pragma once

#include <set>

#include "cantilever/train/checkpoint.h"

namespace cantilever {

// The checkpoints of one run in its output folder: which are its own, which are another run's, how
// many stay.
class CheckpointKeeper {
 public:
  explicit CheckpointKeeper(const TrainOptions& options) : options_(options) {}

  // The run goes on from there.
  void continued_from(const std::filesystem::path& checkpoint) { last_ = checkpoint; }

  // Looks for what another run left in the output folder: it must neither push this run's
  // checkpoints out nor be taken for one of them. first_step: steps done before this call.
  void find_foreign(int64_t first_step);

  // Writes checkpoint-STEP and removes those that --save_total_limit does not allow.
  void save(int64_t step, const CheckpointContent& content);

  int64_t saved_step() const { return saved_step_; }  // of this call; -1: none
  const std::filesystem::path& last() const { return last_; }
  // "the last checkpoint is ..." or that there is none.
  std::string describe_last() const;

 private:
  const TrainOptions& options_;
  int64_t saved_step_ = -1;
  std::filesystem::path last_;  // written, or continued from
  std::set<int64_t> foreign_;
};

}  // namespace cantilever
