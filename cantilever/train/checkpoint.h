#pragma once

#include <cstdint>
#include <filesystem>
#include <vector>

#include "cantilever/data/loader/batch_loader.h"
#include "cantilever/optim/flat_parameters.h"
#include "cantilever/train/trainer_state.h"
#include "cantilever/train/workbench.h"

namespace cantilever {

// What a continued run needs beside weights, moments and trainer_state.json: cantilever_state.json.
struct ResumeState {
  int64_t global_step = 0;
  int64_t epoch = 0;            // of the next step, counted from 0
  int64_t micro_batch = 0;      // position in it: micro-batches already used
  bool epoch_end_due = false;   // saved after the last step of an epoch, before what follows it
  bool evaluation_due = false;  // an evaluation at this step was cut off by a signal
  float running_loss = 0;       // LossMeter's window
  int64_t running_steps = 0;
  double total_loss = 0;     // over all steps of the run, also of the calls before
  double gradient_norm = 0;  // of the last step, for a log that is still due
  double learning_rate = 0;
  std::vector<BadSample> bad_samples;

  // What must be equal for a bit-equal continuation; compared when a run goes on.
  int64_t rows = 0, batch_size = 0, accumulation = 0, max_seq_length = 0;
  uint64_t seed = 0, data_seed = 0;
  std::string pixel_semantics, exif_orientation, on_bad_sample;
  std::string caption_choice = "auto";
  std::string augmentation = "none";
  std::string cached_pixels = "exact";  // or the type that a cache rounds to (CacheDecision)
  bool drop_last = false;
  int threads = 0;

  Json to_json() const;
  // Throws Error with file and key.
  static ResumeState from_json(const Json& json, const std::string& where);
  // The settings of a new run.
  static ResumeState of_run(const TrainOptions& options, int64_t rows,
                            const std::string& cached_pixels = "exact");
  // What differs, one line each ("seed: 42 then, 43 now"); empty when a continuation is exact.
  std::vector<std::string> differences(const ResumeState& now) const;
};

// "none", or what is changed and how: "random_resized_crop_scale 0.9 1, random_horizontal_flip
// 0.5".
std::string describe_augmentation(const AugmentationOptions& options);

struct CheckpointContent {
  const Workbench& bench;
  const FlatParameters& parameters;
  int64_t optimizer_steps = 0;
  const TrainOptions& options;
  const TrainerState& trainer_state;
  const ResumeState& resume_state;
};

// Writes output_dir/checkpoint-STEP: a usable model folder (config.json, model.safetensors,
// tokenizer, preprocessor_config.json) with optimizer.safetensors (exp_avg.NAME, exp_avg_sq.NAME,
// step), trainer_state.json, cantilever_state.json, training_args.json and, last, the marker
// complete.json with the size of every file. Written into checkpoint-STEP.tmp-PID, flushed to disk
// file by file, then renamed: a kill at any moment leaves no folder that looks complete and is not.
// Throws Error when the disk has too little room (before anything is written) or a write fails.
std::filesystem::path write_checkpoint(const std::filesystem::path& output_dir, int64_t step,
                                       const CheckpointContent& content);

// save_checkpoint() with the `"use_cache": false` that a training run of Transformers leaves in
// config.json.
void save_trained_model(const BridgeTowerForContrastiveLearning& model,
                        const std::filesystem::path& folder);

// Reads the moments into `parameters`. Throws Error naming file and tensor when names or shapes do
// not match those trained now. Returns the number of optimiser steps behind them.
int64_t read_moments(const std::filesystem::path& checkpoint, FlatParameters& parameters);
ResumeState read_resume_state(const std::filesystem::path& checkpoint);

}  // namespace cantilever
