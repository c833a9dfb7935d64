#include "cantilever/train/checkpoint_keeper.h"

#include "cantilever/base/error.h"
#include "cantilever/base/log.h"
#include "cantilever/train/checkpoint_folders.h"

namespace cantilever {

namespace fs = std::filesystem;

void CheckpointKeeper::find_foreign(int64_t first_step) {
  const fs::path out = fs::weakly_canonical(options_.output_dir);
  const bool continued =
      !last_.empty() && fs::weakly_canonical(last_ / "x").parent_path().parent_path() == out;
  std::string names;
  for (const CheckpointFolder& folder : list_checkpoints(out)) {
    if (continued && folder.step <= first_step) continue;
    foreign_.insert(folder.step);
    names += concat(names.empty() ? "" : ", ", folder.path.filename().string());
  }
  if (names.empty()) return;
  log_warning(concat(options_.output_dir, " holds ", names, " of another run; ",
                     options_.save_total_limit
                         ? "--save_total_limit removes them before this run's own"
                         : "they stay. To continue this run later give "
                           "--resume_from_checkpoint the path of one of its own checkpoints"));
}

void CheckpointKeeper::save(int64_t step, const CheckpointContent& content) {
  last_ = write_checkpoint(options_.output_dir, step, content);
  saved_step_ = step;
  foreign_.erase(step);
  rotate_checkpoints(options_.output_dir, options_.save_total_limit, last_, foreign_);
}

std::string CheckpointKeeper::describe_last() const {
  return last_.empty() ? std::string("there is no checkpoint yet")
                       : concat("the last checkpoint is ", last_.string());
}

}  // namespace cantilever
