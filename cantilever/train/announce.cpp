#include "cantilever/train/announce.h"

#include <ATen/Parallel.h>

#include "cantilever/base/error.h"
#include "cantilever/base/log.h"
#include "cantilever/train/checkpoint.h"

namespace cantilever {

void announce_training(const TrainOptions& options, const TrainingPlan& plan,
                       const CacheDecision& cache, int64_t first_step, int64_t trained) {
  log_info(concat("training on ", plan.rows, " rows, ", plan.num_train_epochs, " epochs of ",
                  plan.updates_per_epoch, " steps, ", plan.max_steps, " steps in all; batch ",
                  plan.batch_size, " x ", plan.accumulation, " accumulated; ", trained,
                  " trained parameters; ", at::get_num_threads(), " threads"));
  log_info(cache.reason);
  if (cache.rounds) {
    log_warning(concat("--decoded_cache_dtype ", options.decoded_cache_dtype, " rounds pixels of ",
                       "--pixel_semantics ", options.pixel_semantics,
                       ": the run will not equal one without a cache"));
  }
  if (options.augmentation.any()) {
    log_info(concat("augmentation: ", describe_augmentation(options.augmentation)));
  }
  if (options.mediapipe_dataloader) {
    log_info(
        "--mediapipe_dataloader: there is no media device; a stand-in on the CPU decodes "
        "through the same interface, with the same pixels");
  }
  if (!options.run_name.empty()) log_info(concat("run: ", options.run_name));
  if (options.max_steps == 0) {
    log_warning(
        "--max_steps is 0: one step is made, as Transformers 5.24 does, at the rate that the "
        "schedule has after all steps (0 for linear); -1 leaves it to --num_train_epochs");
  }
  if (options.throughput_warmup_steps > 0 &&
      options.throughput_warmup_steps >= plan.max_steps - first_step) {
    log_warning(concat("--throughput_warmup_steps ", options.throughput_warmup_steps,
                       " is ignored: only ", plan.max_steps - first_step, " steps are to be done"));
  }
  if (plan.batch_size == 1) {
    warn_once("batch of one",
              "--per_device_train_batch_size is 1: the contrastive loss of a single pair is always "
              "0 and nothing is learned; use at least 2");
  } else if (plan.rows % plan.batch_size == 1 && !options.dataloader_drop_last) {
    warn_once(
        "last batch of one",
        concat("the last batch of every epoch has a single pair (", plan.rows, " rows in ",
               "batches of ", plan.batch_size,
               "), whose contrastive loss is always 0; --dataloader_drop_last leaves it out"));
  }
}

}  // namespace cantilever
