// The flags of transformers.TrainingArguments (5.24) that concern training itself.

#include "cantilever/cli/flag_tables.h"

namespace cantilever {

using enum FlagType;

namespace {

constexpr const char* kFloat32Only =
    "this version computes in float32 only (the CPUs it runs on have no faster 16-bit arithmetic); "
    "leave the flag out";
constexpr const char* kNothingToCompile =
    "there is no Python graph to compile, the program is compiled already; leave the flag out";
constexpr const char* kCheckpointing =
    "activations are not recomputed in this version; lower --per_device_train_batch_size if memory "
    "is short";

}  // namespace

FlagGroup run_flags() {
  return {
      "Run",
      {
          differs("output_dir", kString, "null", "Folder for everything that is written.",
                  "must be given (Transformers writes to trainer_output)"),
          same("overwrite_output_dir", kBool, "false",
               "Start anew in a folder that has content. Without it a used folder is resumed from "
               "its last checkpoint."),
          same("do_train", kBool, "false", "Train on the train split."),
          differs("do_eval", kBool, "false", "Loss on the validation split after training.",
                  "--eval_strategy other than no does not switch it on"),
          differs("do_predict", kBool, "false", "Loss on the test split.",
                  "works (the example passes it and has no code for it)"),
          differs("resume_from_checkpoint", kString, "null",
                  "Go on from this checkpoint folder; without a value from the last one in "
                  "--output_dir.",
                  "may stand without a value; a missing folder is an error")
              .or_bare("True"),
          differs("seed", kInt, "42", "Seed of fresh weights, order of rows and dropout.",
                  "same order of rows; weights and dropout come from other generators")
              .at_least(0),
          same("data_seed", kInt, "null", "Seed of the order of rows, if not --seed.").at_least(0),
          no_effect("full_determinism", kBool, "false",
                    "runs repeat bit for bit on one machine and number of threads anyway"),
          same("run_name", kString, "null", "Name of the run, for the log and the model card."),
          refused("ignore_data_skip", kBool, "false",
                  "a resumed run always goes on with the rows that come next"),
          no_effect("restore_callback_states_from_checkpoint", kBool, "false",
                    "there are no callbacks"),
      }};
}

FlagGroup training_flags() {
  return {
      "Training",
      {
          same("per_device_train_batch_size", kInt, "8", "Pairs in a training batch.")
              .at_least(1)
              .at_most(kLargestCount)
              .alias("per_gpu_train_batch_size"),
          same("gradient_accumulation_steps", kInt, "1",
               "Batches per optimiser step. They do not add negatives to the loss.")
              .at_least(1)
              .at_most(kLargestCount),
          same("num_train_epochs", kFloat, "3.0", "Passes over the train split.")
              .at_least(0)
              .at_most(kLargestCount),
          same("max_steps", kInt, "-1",
               "Optimiser steps; overrides --num_train_epochs when positive. 0 makes one step.")
              .at_most(kLargestCount),
          differs("optim", kString, "\"adamw_torch_fused\"", "Optimiser.",
                  "all accepted names are one AdamW")
              .one_of({"adamw_torch_fused", "adamw_torch", "adamw_hf"},
                      "AdamW is the only optimiser here"),
          refused("optim_args", kString, "null",
                  "AdamW takes --adam_beta1, --adam_beta2, "
                  "--adam_epsilon and --weight_decay"),
          refused("optim_target_modules", kString, "null",
                  "the optimisers that need it are not built in"),
          same("weight_decay", kFloat, "0.0",
               "Decoupled weight decay; not for biases and layer norms.")
              .at_least(0),
          same("adam_beta1", kFloat, "0.9", "Decay of the first moment.").at_least(0),
          same("adam_beta2", kFloat, "0.999", "Decay of the second moment.").at_least(0),
          same("adam_epsilon", kFloat, "1e-08",
               "Added to the root of the second moment. GaudiTrainingArguments have 1e-6.")
              .at_least(0),
          same("max_grad_norm", kFloat, "1.0", "Gradients are scaled down to this norm; 0: never.")
              .at_least(0),
          refused("label_smoothing_factor", kFloat, "0.0", "the contrastive loss has no labels"),
          refused("neftune_noise_alpha", kFloat, "null", "noise on embeddings is not built in"),
          no_effect("average_tokens_across_devices", kBool, "true",
                    "the contrastive loss counts pairs, not tokens"),
          refused("auto_find_batch_size", kBool, "false",
                  "the batch size decides the negatives of the loss; choose it with "
                  "--per_device_train_batch_size"),
          refused("bf16", kBool, "false", kFloat32Only),
          refused("fp16", kBool, "false", kFloat32Only),
          refused("bf16_full_eval", kBool, "false", kFloat32Only),
          refused("fp16_full_eval", kBool, "false", kFloat32Only),
          no_effect("tf32", kBool, "null", "TF32 is a GPU's arithmetic; float32 is used"),
          refused("activation_checkpointing", kBool, "null", kCheckpointing),
          refused("activation_checkpointing_kwargs", kJson, "null", kCheckpointing),
          refused("gradient_checkpointing", kBool, "null", kCheckpointing),
          refused("gradient_checkpointing_kwargs", kJson, "null", kCheckpointing),
          refused("torch_compile", kBool, "false", kNothingToCompile),
          refused("torch_compile_backend", kString, "null", kNothingToCompile),
          refused("torch_compile_mode", kString, "null", kNothingToCompile),
          refused("use_liger_kernel", kBool, "false",
                  "Liger kernels are for language models on GPUs"),
          refused("liger_kernel_config", kJson, "null",
                  "Liger kernels are for language models on GPUs"),
          no_effect("use_cache", kBool, "false", "an encoder has no key-value cache"),
          no_effect("torch_empty_cache_steps", kInt, "null", "there is no device cache to empty"),
      }};
}

FlagGroup schedule_flags() {
  return {
      "Learning rate",
      {
          same("learning_rate", kFloat, "5e-05", "Highest learning rate.").at_least(0),
          differs("lr_scheduler_type", kString, "\"linear\"", "How the rate changes after warm-up.",
                  "reduce_lr_on_plateau and greedy, which follow a metric, are not offered")
              .one_of({"linear", "cosine", "cosine_with_restarts", "polynomial", "constant",
                       "constant_with_warmup", "inverse_sqrt", "cosine_with_min_lr",
                       "cosine_warmup_with_min_lr", "warmup_stable_decay"}),
          same("lr_scheduler_kwargs", kJson, "null",
               "More of the schedule, as JSON: num_cycles, power, lr_end, min_lr ..."),
          same("warmup_steps", kFloat, "0",
               "Steps of linear warm-up; below 1 a share of all steps.")
              .at_least(0)
              .at_most(kLargestCount),
          same("warmup_ratio", kFloat, "0.0",
               "Share of all steps that is warm-up. Gone from Transformers 5, works here.")
              .at_least(0),
      }};
}

FlagGroup evaluation_flags() {
  return {
      "Evaluation",
      {
          same("eval_strategy", kString, "\"no\"", "When to evaluate while training.")
              .one_of({"no", "steps", "epoch"})
              .alias("evaluation_strategy"),
          same("eval_steps", kFloat, "null",
               "Steps between evaluations; below 1 a share of all steps. Default: --logging_steps.")
              .at_least(0)
              .at_most(kLargestCount),
          same("eval_delay", kFloat, "0", "Epochs or steps before the first evaluation.")
              .at_least(0),
          same("per_device_eval_batch_size", kInt, "8",
               "Pairs in an evaluation batch. The loss depends on it.")
              .at_least(1)
              .at_most(kLargestCount)
              .alias("per_gpu_eval_batch_size"),
          refused("eval_on_start", kBool, "false",
                  "evaluate first with a run of its own: --do_eval without --do_train"),
          no_effect("prediction_loss_only", kBool, "false",
                    "evaluation keeps nothing but the loss"),
          no_effect("eval_do_concat_batches", kBool, "true",
                    "evaluation keeps nothing but the loss"),
          no_effect("eval_use_gather_object", kBool, "false",
                    "evaluation keeps nothing but the loss"),
          no_effect("eval_accumulation_steps", kInt, "null",
                    "evaluation keeps nothing but the loss"),
          no_effect("include_for_metrics", kStrings, "[]", "there is no compute_metrics function"),
          no_effect("batch_eval_metrics", kBool, "false", "there is no compute_metrics function"),
          no_effect("label_names", kStrings, "null", "the contrastive loss has no labels"),
          refused(
              "load_best_model_at_end", kBool, "false",
              "the best checkpoint is not tracked in this version; choose one by its eval_loss in "
              "trainer_state.json"),
          no_effect("metric_for_best_model", kString, "null",
                    "the best checkpoint is not tracked in this version"),
          no_effect("greater_is_better", kBool, "null",
                    "the best checkpoint is not tracked in this version"),
      }};
}

FlagGroup logging_flags() {
  return {
      "Logging",
      {
          same("logging_strategy", kString, "\"steps\"", "When to log.")
              .one_of({"no", "steps", "epoch"}),
          same("logging_steps", kFloat, "500",
               "Steps between log lines; below 1 a share of all steps.")
              .at_least(0)
              .at_most(kLargestCount),
          same("logging_first_step", kBool, "false", "Log the first step too."),
          differs(
              "logging_nan_inf_filter", kBool, "false",
              "Leave NaN and Inf losses out of the logged mean.",
              "off by default, as in GaudiTrainingArguments: a diverged run must not look healthy"),
          differs("report_to", kStrings, "[\"none\"]",
                  "Where metrics go besides the log and files.",
                  "tensorboard is built in, other services are not")
              .one_of({"tensorboard", "none", "all"},
                      "use tensorboard, whose event files other services import"),
          same("logging_dir", kString, "null",
               "Folder of TensorBoard files. Default: OUTPUT_DIR/runs/DATE_HOST. Gone from "
               "Transformers 5, works here."),
          same("disable_tqdm", kBool, "null", "No progress bar."),
          no_effect("log_level_replica", kString, "\"warning\"", "there is one process"),
          no_effect("log_on_each_node", kBool, "true", "there is one process"),
          no_effect("include_num_input_tokens_seen", kString, "\"no\"",
                    "tokens are not counted; every batch is --max_seq_length wide"),
          no_effect("skip_memory_metrics", kBool, "true", "no memory profile is taken"),
          no_effect("project", kString, "\"huggingface\"",
                    "it belongs to trackio, which is not built in"),
          no_effect("trackio_space_id", kString, "null",
                    "it belongs to trackio, which is not built in"),
          no_effect("trackio_bucket_id", kString, "null",
                    "it belongs to trackio, which is not built in"),
          no_effect("trackio_static_space_id", kString, "null",
                    "it belongs to trackio, which is not built in"),
      }};
}

FlagGroup saving_flags() {
  return {"Saving",
          {
              differs("save_strategy", kString, "\"steps\"", "When to write checkpoint-STEP.",
                      "best is not offered")
                  .one_of({"no", "steps", "epoch"}),
              same("save_steps", kFloat, "500",
                   "Steps between checkpoints; below 1 a share of all steps.")
                  .at_least(0)
                  .at_most(kLargestCount),
              same("save_total_limit", kInt, "null", "Keep the newest N checkpoints.")
                  .at_least(1)
                  .at_most(kLargestCount),
              no_effect("save_only_model", kBool, "false",
                        "a checkpoint always holds what a resumed run needs"),
              no_effect("save_on_each_node", kBool, "false", "there is one process"),
              no_effect("enable_jit_checkpoint", kBool, "false",
                        "SIGINT and SIGTERM always write a checkpoint before the program ends"),
          }};
}

FlagGroup loading_flags() {
  return {
      "Loading",
      {
          differs("dataloader_num_workers", kInt, "0",
                  "Threads that decode and tokenise; 0: the training thread does it; auto: as many "
                  "as waiting and the CPUs of this process ask for.",
                  "threads instead of processes; the batches are the same for any number")
              .or_word("auto")
              .at_least(0)
              .at_most(kMostThreads),
          differs("dataloader_prefetch_factor", kInt, "null", "Batches ahead, for each worker.",
                  "default 2, as PyTorch")
              .at_least(1)
              .at_most(1024),
          on_bad_sample_flag(),
          same("dataloader_drop_last", kBool, "false", "Leave out a short last batch."),
          no_effect("dataloader_pin_memory", kBool, "true", "pinned memory is for GPUs"),
          no_effect("dataloader_persistent_workers", kBool, "false",
                    "the threads live as long as the run"),
          no_effect("dataloader_multiprocessing_context", kString, "null",
                    "workers are threads, not processes"),
          no_effect("dataloader_in_order", kBool, "true", "batches always come in order"),
          no_effect("remove_unused_columns", kBool, "true",
                    "only the picture and the caption column are read"),
          differs("train_sampling_strategy", kString, "\"random\"", "Order of the training rows.",
                  "random only")
              .one_of({"random"},
                      "sequential, group_by_length and batch_rebalance are not offered"),
          no_effect("length_column_name", kString, "\"length\"", "rows are not grouped by length"),
      }};
}

FlagGroup device_flags() {
  return {"Device",
          {
              own("device", kString, "\"auto\"", "Where to compute; auto is what is there.")
                  .one_of({"auto", "cpu"},
                          "cuda and hpu are not built into this program, it computes on the CPU"),
              same("use_cpu", kBool, "false", "The same as --device cpu.").alias("no_cuda"),
              refused("accelerator_config", kString, "null", "accelerate is not used here"),
              refused("parallelism_config", kString, "null", "accelerate is not used here"),
              refused("fsdp", kString, "null",
                      "sharded training is not in this version; it runs in one process")
                  .or_bare("True"),
              refused("fsdp_config", kString, "null",
                      "sharded training is not in this version; it runs in one process"),
              refused("deepspeed", kString, "null",
                      "DeepSpeed is a Python library; this program runs in one process"),
          }};
}

const FlagTable& train_flag_table() {
  static const FlagTable table(
      {run_flags(), model_flags(), data_flags(), pixel_flags(), training_flags(), schedule_flags(),
       evaluation_flags(), logging_flags(), saving_flags(), loading_flags(), cache_flags(),
       augmentation_flags(), device_flags(), distributed_flags(), hub_flags(), gaudi_flags(),
       gone_flags(), comparison_flags(), common_flags()});
  return table;
}

}  // namespace cantilever
