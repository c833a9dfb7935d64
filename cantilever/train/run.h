#pragma once

#include "cantilever/train/options.h"

namespace cantilever {

// `cantilever train`: any of training, evaluation (validation split) and prediction (test split),
// in that order, with the files of spec/cli.md in output_dir. Returns 0, or 128 + signal when
// SIGINT or SIGTERM ended the training after a checkpoint was written. Throws Error.
int run_train(const TrainOptions& options);

}  // namespace cantilever
