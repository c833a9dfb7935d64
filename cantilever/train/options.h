#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cantilever/data/image/augment.h"
#include "cantilever/io/json.h"

namespace cantilever {

// Everything `cantilever train` can be told. Fields bear the names of run_bridgetower.py's model
// and data arguments and of transformers.TrainingArguments (5.24), with their defaults; the cli
// room fills them in (to_options.cpp), nobody else knows flags.
struct TrainOptions {
  // Model arguments
  std::string model_name_or_path;
  std::string config_name, tokenizer_name, image_processor_name;  // default: the model's folder
  bool freeze_vision_model = false;
  bool freeze_text_model = false;
  bool freeze_text_pooler = true;
  std::optional<int64_t> contrastive_hidden_size;  // fresh heads for a checkpoint without them

  // Data arguments
  std::string dataset_name, dataset_config_name, dataset_revision = "main";
  std::string data_dir, train_file, validation_file, test_file, train_dir, validation_dir;
  std::string image_root;
  std::string image_column = "image_path";
  std::string caption_column = "caption";
  bool find_image_column = false;  // the names are defaults, see SourceOptions
  bool find_caption_column = false;
  int64_t max_seq_length = 128;
  std::optional<int64_t> max_train_samples, max_eval_samples, max_predict_samples;
  bool script_splits = false;
  std::string pixel_semantics = "reference";
  std::string exif_orientation = "auto";  // auto, on, off
  std::string on_bad_sample = "fail";     // fail, skip
  std::string caption_choice = "auto";    // auto, first, random, all
  bool allow_outside_paths = false;
  int64_t max_image_pixels = 2 * int64_t{89478485};
  std::string decoded_cache = "auto";          // auto, ram, disk, off
  std::optional<int64_t> decoded_cache_limit;  // bytes, of each split
  std::string decoded_cache_dtype = "auto";    // auto, u8, bf16, f32
  std::string decoded_cache_dir;               // default: output_dir/decoded_cache
  AugmentationOptions augmentation;            // of training pictures

  // Training arguments
  std::string output_dir;
  bool overwrite_output_dir = false;
  bool do_train = false, do_eval = false, do_predict = false;
  int64_t per_device_train_batch_size = 8;
  int64_t per_device_eval_batch_size = 8;
  int64_t gradient_accumulation_steps = 1;
  double learning_rate = 5e-5;
  double weight_decay = 0;
  double adam_beta1 = 0.9, adam_beta2 = 0.999, adam_epsilon = 1e-8;
  double max_grad_norm = 1;
  double num_train_epochs = 3;
  int64_t max_steps = -1;
  std::string lr_scheduler_type = "linear";
  Json lr_scheduler_kwargs = Json::object();
  double warmup_ratio = 0;
  double warmup_steps = 0;           // below 1 a ratio
  std::string eval_strategy = "no";  // no, steps, epoch
  std::optional<double> eval_steps;  // below 1 a ratio of all steps; default: logging_steps
  double eval_delay = 0;
  std::string logging_strategy = "steps";
  double logging_steps = 500;
  bool logging_first_step = false;
  bool logging_nan_inf_filter = false;  // True in Transformers: hides a diverged run
  std::string save_strategy = "steps";
  double save_steps = 500;
  std::optional<int64_t> save_total_limit;
  uint64_t seed = 42;
  std::optional<uint64_t> data_seed;
  int dataloader_num_workers = 0;  // threads; kAutoWorkers: found while training
  std::optional<int64_t> dataloader_prefetch_factor;
  bool dataloader_drop_last = false;
  bool mediapipe_dataloader = false;
  std::string logging_dir;             // default: output_dir/runs/DATE_HOST
  std::vector<std::string> report_to;  // tensorboard; none
  std::string run_name;
  bool disable_tqdm = false;
  // "": not asked for; "True": the last checkpoint in output_dir; else a folder
  std::string resume_from_checkpoint;
  int64_t throughput_warmup_steps = 0;
  bool adjust_throughput = false;
  std::string device = "auto";
  int threads = 0;  // 0: all cores this process may use

  // Written for comparing with the reference (train_reference.py has the same)
  std::string dump_step_tensors;
  bool dump_sample_order = false;

  // All flags as given and defaulted, for training_args.json and the log.
  Json as_json = Json::object();
};

}  // namespace cantilever
