// Flags of the model and the data: run_bridgetower.py's ModelArguments and DataTrainingArguments.

#include "cantilever/cli/flag_tables.h"

namespace cantilever {

using enum FlagType;

FlagGroup common_flags() {
  Flag help = own("help", kBool, "false", "Show the flags of the command and stop.");
  help.suppressed = true;
  return {
      "Common",
      {
          std::move(help),
          differs("debug", kBool, "false",
                  "Add type and stack to an error, and debug lines to the log.",
                  "a switch here; the debug options of Transformers (underflow_overflow, "
                  "tpu_metrics_debug) are not offered"),
          own("threads", kInt, "null",
              "Threads for arithmetic. Default: OMP_NUM_THREADS if it is set, else the CPUs that "
              "this process may use (affinity and cgroup quota).")
              .at_least(0)
              .at_most(kMostThreads),
          same("log_level", kString, "\"passive\"", "How much to log; passive is info.")
              .one_of({"debug", "info", "warning", "error", "critical", "passive"}),
      }};
}

FlagGroup model_flags() {
  return {
      "Model",
      {
          differs("model_name_or_path", kString, "null",
                  "Folder with config.json, weights, tokenizer and preprocessor_config.json.",
                  "a folder; names on the hub come with a later version"),
          no_effect("config_name", kString, "null", "the config.json beside the weights is used"),
          same("tokenizer_name", kString, "null", "Folder of the tokenizer, if not the model's."),
          same("image_processor_name", kString, "null",
               "Folder of preprocessor_config.json, if not the model's."),
          differs("freeze_vision_model", kBool, "false", "Do not train the vision tower.",
                  "works (the example raises AttributeError)"),
          differs("freeze_text_model", kBool, "false", "Do not train the text tower.",
                  "works (the example raises AttributeError)"),
          same("freeze_text_pooler", kBool, "true",
               "Drop the text pooler, which no loss reaches: neither trained nor saved."),
          own("contrastive_hidden_size", kInt, "null",
              "Add fresh contrastive heads of this width to a checkpoint that has none.")
              .at_least(1)
              .at_most(65536),
          no_effect(
              "cache_dir", kString, "null",
              "models and data sets are read where they lie; nothing is downloaded or cached"),
          no_effect("model_revision", kString, "\"main\"",
                    "a local folder has no revisions; hub names come with a later version"),
          no_effect("use_fast_tokenizer", kBool, "true", "there is one tokenizer, a fast one"),
          no_effect("token", kString, "null", "nothing is asked of the hub in this version")
              .alias("use_auth_token")
              .hidden_value(),
          no_effect("trust_remote_code", kBool, "false",
                    "no code is ever read from a model or data set"),
      }};
}

FlagGroup data_flags() {
  return {
      "Data",
      {
          differs("dataset_name", kString, "null",
                  "Folder or file with the pairs; format, splits and columns are found.",
                  "a folder or file; names on the hub come with a later version"),
          same("dataset_config_name", kString, "null",
               "Configuration (sub-folder) of the data set."),
          no_effect("dataset_revision", kString, "\"main\"",
                    "a local data set has no revisions; hub names come with a later version"),
          same("data_dir", kString, "null", "Folder of the data files within the data set."),
          differs("train_file", kString, "null", "File with the training pairs.",
                  "also Parquet, Arrow, jsonl, tsv, COCO json, tar"),
          differs("validation_file", kString, "null", "File with the validation pairs.",
                  "also Parquet, Arrow, jsonl, tsv, COCO json, tar"),
          differs("test_file", kString, "null", "File with the test pairs.",
                  "also Parquet, Arrow, jsonl, tsv, COCO json, tar"),
          own("train_dir", kString, "null", "Folder with the training pairs."),
          own("validation_dir", kString, "null", "Folder with the validation pairs."),
          own("image_root", kString, "null",
              "Where relative picture paths start. Default: the data file's folder."),
          differs("image_column", kString, "\"image_path\"",
                  "Column with the pictures or their paths.",
                  "not given and not there: the only column of pictures"),
          differs(
              "caption_column", kString, "\"caption\"", "Column with the captions.",
              "not given and not there: a column called like captions, or the only one of texts"),
          own("caption_choice", kString, "\"auto\"",
              "Of rows with several captions: first, another one each epoch (random), or each as a "
              "row of its own (all). auto: all where the set counts a caption as a row (COCO, "
              "Flickr8k), else the first.")
              .one_of({"auto", "first", "random", "all"}),
          own("allow_outside_paths", kBool, "false",
              "Pictures may lie outside the set's folder (absolute paths, .., links)."),
          same("max_seq_length", kInt, "128", "Tokens of a caption; longer ones are cut.")
              .at_least(3)
              .at_most(kLargestCount),
          same("max_train_samples", kInt, "null", "Use the first N rows only.")
              .at_least(1)
              .at_most(kLargestCount),
          same("max_eval_samples", kInt, "null", "Use the first N rows only.")
              .at_least(1)
              .at_most(kLargestCount),
          own("max_predict_samples", kInt, "null", "Use the first N rows only.")
              .at_least(1)
              .at_most(kLargestCount),
          own("script_splits", kBool, "false",
              "Cut train 60/20/20 whenever a test split is missing, as the example does, even when "
              "a "
              "validation file is given. Default: only when both are missing."),
          no_effect("overwrite_cache", kBool, "false", "nothing is cached"),
          no_effect("preprocessing_num_workers", kInt, "null",
                    "captions are tokenised while training, by --dataloader_num_workers threads"),
          no_effect("streaming", kBool, "false", "rows are always read when they are needed"),
      }};
}

FlagGroup decode_flags() {
  return {"Pictures",
          {
              own("exif_orientation", kString, "\"auto\"",
                  "Turn pictures by their EXIF tag. auto: only where `datasets` decodes (an Image "
                  "feature).")
                  .one_of({"auto", "on", "off"}),
              own("max_image_pixels", kInt, "178956970",
                  "Pictures with more pixels are refused before they are decoded. Default: twice "
                  "Pillow's MAX_IMAGE_PIXELS, above which it raises DecompressionBombError.")
                  .at_least(1)
                  .at_most(kLargestCount),
          }};
}

FlagGroup pixel_flags() {
  FlagGroup group = decode_flags();
  group.flags.insert(
      group.flags.begin(),
      own("pixel_semantics", kString, "\"reference\"",
          "Arithmetic of the resize. reference: as the example does it (tv-u8, whole levels, for "
          "pictures given as paths, tv-float-aa, float without clamp, for all others). "
          "tv-float-noaa: without antialiasing. pil-u8: as Pillow. hf-processor: as "
          "BridgeTowerImageProcessor.")
          .one_of(
              {"reference", "tv-float-aa", "tv-float-noaa", "tv-u8", "pil-u8", "hf-processor"}));
  return group;
}

Flag on_bad_sample_flag() {
  return own("on_bad_sample", kString, "\"fail\"",
             "A row that cannot be used: stop with its number and reason, or take the next usable "
             "row in its place, counted and listed.")
      .one_of({"fail", "skip"});
}

FlagGroup cache_flags() {
  return {
      "Cache of decoded pictures",
      {
          own("decoded_cache", kString, "\"auto\"",
              "Keep finished pictures (decoded, resized) of the training split, in memory or in a "
              "file. auto: in memory when there is more than one epoch and the whole split fits "
              "into the limit, else off; the log says which. A file serves evaluation and later "
              "runs too.")
              .one_of({"auto", "ram", "disk", "off"}),
          own("decoded_cache_limit", kString, "null",
              "Bytes of pictures a split may keep, such as 8GiB, 500MB or 1000000; pictures beyond "
              "them are made anew each time. Default: a part of what is free."),
          own("decoded_cache_dtype", kString, "\"auto\"",
              "How a picture is kept. auto: u8 where --pixel_semantics has whole levels, else f32, "
              "so that no number changes; u8 and bf16 round where they have to.")
              .one_of({"auto", "u8", "bf16", "f32"}),
          own("decoded_cache_dir", kString, "null",
              "Folder of the file. Default: OUTPUT_DIR/decoded_cache; runs that name one folder "
              "share it."),
      }};
}

FlagGroup augmentation_flags() {
  return {
      "Augmentation (training only)",
      {
          own("random_resized_crop_scale", kFloats, "null",
              "Train on a random part of each picture with a share of its area between these two "
              "(open_clip: 0.9 1.0), as torchvision's RandomResizedCrop, instead of the centre.")
              .numbers(2)
              .at_least(0)
              .at_most(1),
          own("random_resized_crop_ratio", kFloats, "null",
              "Width by height of that part, between these two. Default: 0.75 1.3333.")
              .numbers(2)
              .at_least(0)
              .at_most(1000),
          own("random_horizontal_flip", kFloat, "0", "Probability that a picture is mirrored.")
              .at_least(0)
              .at_most(1),
          own("color_jitter", kFloats, "null",
              "Brightness, contrast, saturation and hue of torchvision's ColorJitter (open_clip "
              "writes 0.32 0.32 0.32 0.08).")
              .numbers(4)
              .at_least(0)
              .at_most(1000),
          own("color_jitter_prob", kFloat, "1", "Probability that --color_jitter is applied.")
              .at_least(0)
              .at_most(1),
          own("grayscale_prob", kFloat, "0", "Probability that a picture becomes grey.")
              .at_least(0)
              .at_most(1),
      }};
}

FlagGroup comparison_flags() {
  return {"Comparison with the reference",
          {
              own("dump_step_tensors", kString, "null",
                  "Folder for inputs, loss, embeddings and gradients of the first step."),
              own("dump_sample_order", kBool, "false",
                  "Write sample_order.json: which rows each step saw."),
          }};
}

}  // namespace cantilever
