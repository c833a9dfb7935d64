#include "cantilever/cli/to_options.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cantilever/cli/flag_tables.h"

namespace cantilever {
namespace {

using testing::HasSubstr;
using Words = std::vector<std::string>;

TrainOptions options(Words more) {
  Words words = {"--output_dir", "out", "--do_train", "--model_name_or_path", "model"};
  words.insert(words.end(), more.begin(), more.end());
  return to_train_options(parse_flags(train_flag_table(), words));
}

std::string usage_error(const Words& words) {
  try {
    options(words);
  } catch (const UsageError& error) {
    return error.what();
  }
  return "no UsageError";
}

TEST(ToTrainOptions, DefaultsAreThoseOfTheStruct) {
  const TrainOptions plain;
  const TrainOptions parsed = options({});
  EXPECT_EQ(parsed.learning_rate, plain.learning_rate);
  EXPECT_EQ(parsed.num_train_epochs, plain.num_train_epochs);
  EXPECT_EQ(parsed.max_steps, plain.max_steps);
  EXPECT_EQ(parsed.per_device_train_batch_size, plain.per_device_train_batch_size);
  EXPECT_EQ(parsed.per_device_eval_batch_size, plain.per_device_eval_batch_size);
  EXPECT_EQ(parsed.adam_epsilon, plain.adam_epsilon);
  EXPECT_EQ(parsed.logging_steps, plain.logging_steps);
  EXPECT_EQ(parsed.save_steps, plain.save_steps);
  EXPECT_EQ(parsed.eval_strategy, plain.eval_strategy);
  EXPECT_EQ(parsed.lr_scheduler_type, plain.lr_scheduler_type);
  EXPECT_EQ(parsed.lr_scheduler_kwargs, plain.lr_scheduler_kwargs);
  EXPECT_EQ(parsed.logging_nan_inf_filter, plain.logging_nan_inf_filter);
  EXPECT_EQ(parsed.freeze_text_pooler, plain.freeze_text_pooler);
  EXPECT_EQ(parsed.image_column, plain.image_column);
  EXPECT_EQ(parsed.caption_column, plain.caption_column);
  EXPECT_EQ(parsed.max_seq_length, plain.max_seq_length);
  EXPECT_EQ(parsed.pixel_semantics, plain.pixel_semantics);
  EXPECT_EQ(parsed.exif_orientation, plain.exif_orientation);
  EXPECT_EQ(parsed.on_bad_sample, plain.on_bad_sample);
  EXPECT_EQ(parsed.dataset_revision, plain.dataset_revision);
  EXPECT_EQ(parsed.seed, plain.seed);
  EXPECT_EQ(parsed.data_seed, plain.data_seed);
  EXPECT_EQ(parsed.device, plain.device);
  EXPECT_EQ(parsed.resume_from_checkpoint, "");
  EXPECT_TRUE(parsed.report_to.empty());
  EXPECT_GE(parsed.threads, 1);
}

TEST(ToTrainOptions, EveryFieldThatAFlagSets) {
  const TrainOptions o = options({"--do_eval",
                                  "--do_predict",
                                  "--tokenizer_name",
                                  "t",
                                  "--image_processor_name",
                                  "i",
                                  "--freeze_vision_model",
                                  "--freeze_text_model",
                                  "--no_freeze_text_pooler",
                                  "--contrastive_hidden_size",
                                  "512",
                                  "--dataset_name",
                                  "d",
                                  "--dataset_config_name",
                                  "c",
                                  "--data_dir",
                                  "dd",
                                  "--train_file",
                                  "tf",
                                  "--validation_file",
                                  "vf",
                                  "--test_file",
                                  "xf",
                                  "--train_dir",
                                  "td",
                                  "--validation_dir",
                                  "vd",
                                  "--image_root",
                                  "r",
                                  "--image_column",
                                  "ic",
                                  "--caption_column",
                                  "cc",
                                  "--max_seq_length",
                                  "64",
                                  "--max_train_samples",
                                  "1",
                                  "--max_eval_samples",
                                  "2",
                                  "--max_predict_samples",
                                  "3",
                                  "--script_splits",
                                  "--pixel_semantics",
                                  "tv-u8",
                                  "--exif_orientation",
                                  "on",
                                  "--on_bad_sample",
                                  "skip"});
  EXPECT_TRUE(o.do_train && o.do_eval && o.do_predict && o.script_splits);
  EXPECT_TRUE(o.freeze_vision_model && o.freeze_text_model && !o.freeze_text_pooler);
  EXPECT_EQ(o.contrastive_hidden_size, 512);
  EXPECT_EQ(
      (Words{o.output_dir, o.model_name_or_path, o.tokenizer_name, o.image_processor_name,
             o.dataset_name, o.dataset_config_name, o.data_dir, o.train_file, o.validation_file,
             o.test_file, o.train_dir, o.validation_dir, o.image_root, o.image_column,
             o.caption_column, o.pixel_semantics, o.exif_orientation, o.on_bad_sample}),
      (Words{"out", "model", "t", "i", "d", "c", "dd", "tf", "vf", "xf", "td", "vd", "r", "ic",
             "cc", "tv-u8", "on", "skip"}));
  EXPECT_EQ(o.max_seq_length, 64);
  EXPECT_EQ(o.max_train_samples, 1);
  EXPECT_EQ(o.max_eval_samples, 2);
  EXPECT_EQ(o.max_predict_samples, 3);
}

TEST(ToTrainOptions, EveryNumberThatAFlagSets) {
  const TrainOptions o = options({"--per_gpu_train_batch_size",
                                  "2",
                                  "--per_device_eval_batch_size",
                                  "3",
                                  "--gradient_accumulation_steps",
                                  "4",
                                  "--learning_rate",
                                  "5e-3",
                                  "--weight_decay",
                                  "0.1",
                                  "--adam_beta1",
                                  "0.8",
                                  "--adam_beta2",
                                  "0.99",
                                  "--adam_epsilon",
                                  "1e-6",
                                  "--max_grad_norm",
                                  "2",
                                  "--num_train_epochs",
                                  "1.5",
                                  "--max_steps",
                                  "7",
                                  "--lr_scheduler_type",
                                  "cosine",
                                  "--lr_scheduler_kwargs",
                                  R"({"num_cycles": 1})",
                                  "--warmup_ratio",
                                  "0.2",
                                  "--warmup_steps",
                                  "0.3",
                                  "--evaluation_strategy",
                                  "steps",
                                  "--eval_steps",
                                  "0.5",
                                  "--eval_delay",
                                  "1",
                                  "--logging_steps",
                                  "11",
                                  "--save_steps",
                                  "12",
                                  "--save_total_limit",
                                  "3",
                                  "--seed",
                                  "5",
                                  "--data_seed",
                                  "6",
                                  "--dataloader_num_workers",
                                  "2",
                                  "--dataloader_prefetch_factor",
                                  "4",
                                  "--throughput_warmup_steps",
                                  "3",
                                  "--threads",
                                  "1"});
  EXPECT_EQ((std::vector<double>{o.learning_rate, o.weight_decay, o.adam_beta1, o.adam_beta2,
                                 o.adam_epsilon, o.max_grad_norm, o.num_train_epochs,
                                 o.warmup_ratio, o.warmup_steps, *o.eval_steps, o.eval_delay,
                                 o.logging_steps, o.save_steps}),
            (std::vector<double>{5e-3, 0.1, 0.8, 0.99, 1e-6, 2, 1.5, 0.2, 0.3, 0.5, 1, 11, 12}));
  EXPECT_EQ((std::vector<int64_t>{o.per_device_train_batch_size, o.per_device_eval_batch_size,
                                  o.gradient_accumulation_steps, o.max_steps, *o.save_total_limit,
                                  static_cast<int64_t>(o.seed), static_cast<int64_t>(*o.data_seed),
                                  o.dataloader_num_workers, *o.dataloader_prefetch_factor,
                                  o.throughput_warmup_steps, o.threads}),
            (std::vector<int64_t>{2, 3, 4, 7, 3, 5, 6, 2, 4, 3, 1}));
  EXPECT_EQ(o.lr_scheduler_kwargs["num_cycles"], 1);
  EXPECT_EQ(o.eval_strategy, "steps");
}

TEST(ToTrainOptions, WhereResultsGo) {
  EXPECT_EQ(options({"--report_to", "all"}).report_to, Words{"tensorboard"});
  EXPECT_EQ(options({"--report_to", "none", "tensorboard", "all"}).report_to, Words{"tensorboard"});
  EXPECT_TRUE(options({"--report_to", "none"}).report_to.empty());
  EXPECT_TRUE(options({"--disable_tqdm", "True"}).disable_tqdm);
  EXPECT_EQ(options({"--no_cuda"}).device, "cpu");
}

TEST(ToTrainOptions, HowARunGoesOn) {
  EXPECT_EQ(options({"--resume_from_checkpoint"}).resume_from_checkpoint, "True");
  EXPECT_EQ(options({"--resume_from_checkpoint", "True"}).resume_from_checkpoint, "True");
  EXPECT_EQ(options({"--resume_from_checkpoint", "False"}).resume_from_checkpoint, "");
  EXPECT_EQ(options({"--resume_from_checkpoint", "out/x"}).resume_from_checkpoint, "out/x");
}

TEST(ToTrainOptions, ValuesThatDoNotGoTogether) {
  EXPECT_THAT(usage_error({"--logging_steps", "1.5"}),
              HasSubstr("--logging_steps: 1.5 is neither"));
  EXPECT_THAT(usage_error({"--save_steps", "0"}), HasSubstr("--save_steps must be above 0"));
  EXPECT_THAT(usage_error({"--eval_steps", "2.5"}), HasSubstr("--eval_steps: 2.5 is neither"));
  EXPECT_THAT(usage_error({"--warmup_steps", "2.5"}), HasSubstr("--warmup_steps"));
  EXPECT_THAT(usage_error({"--warmup_ratio", "2"}), HasSubstr("--warmup_ratio"));
  EXPECT_THAT(usage_error({"--adam_beta2", "1"}), HasSubstr("below 1"));
  EXPECT_THAT(usage_error({"--learning_rate", "nan"}), HasSubstr("--learning_rate"));
  EXPECT_THAT(usage_error({"--learning_rate", "inf"}), HasSubstr("--learning_rate"));
  EXPECT_THAT(usage_error({"--num_train_epochs", "0"}), HasSubstr("nothing to train"));
}

TEST(ToTrainOptions, AllFlagsAreKeptAsJson) {
  const Json kept = options({"--learning_rate", "1e-4", "--hub_token", "secret"}).as_json;
  EXPECT_EQ(kept["learning_rate"], 1e-4);
  EXPECT_EQ(kept["weight_decay"], 0.0);
  EXPECT_EQ(kept["max_train_samples"], nullptr);
  EXPECT_EQ(kept["hub_token"], "<HUB_TOKEN>");
  EXPECT_THAT(dump_json(kept), testing::Not(HasSubstr("secret")));
  EXPECT_FALSE(kept.contains("help"));
}

}  // namespace
}  // namespace cantilever
