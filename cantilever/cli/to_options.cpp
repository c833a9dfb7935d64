#include "cantilever/cli/to_options.h"

#include <algorithm>
#include <cmath>

#include "cantilever/base/error.h"
#include "cantilever/cli/byte_size.h"
#include "cantilever/cli/cpus.h"

namespace cantilever {
namespace {

void usage_check(bool condition, const std::string& message) {
  if (!condition) throw UsageError(message);
}

// Below 1 a share, from 1 on a whole number of steps (TrainingArguments.__post_init__ of
// Transformers says the same).
void check_steps(const FlagValues& values, const std::string& name) {
  const auto steps = values.optional<double>(name);
  usage_check(!steps || *steps <= 1 || *steps == std::floor(*steps),
              concat("--", name, ": ", steps.value_or(0),
                     " is neither a whole number of steps nor a share below 1"));
}

void set_model_options(const FlagValues& v, TrainOptions& o) {
  o.model_name_or_path = v.text("model_name_or_path");
  o.config_name = v.text("config_name");
  o.tokenizer_name = v.text("tokenizer_name");
  o.image_processor_name = v.text("image_processor_name");
  o.freeze_vision_model = v.flag("freeze_vision_model");
  o.freeze_text_model = v.flag("freeze_text_model");
  o.freeze_text_pooler = v.flag("freeze_text_pooler");
  o.contrastive_hidden_size = v.optional<int64_t>("contrastive_hidden_size");
}

void set_data_options(const FlagValues& v, TrainOptions& o) {
  o.dataset_name = v.text("dataset_name");
  o.dataset_config_name = v.text("dataset_config_name");
  o.dataset_revision = v.text("dataset_revision");
  o.data_dir = v.text("data_dir");
  o.train_file = v.text("train_file");
  o.validation_file = v.text("validation_file");
  o.test_file = v.text("test_file");
  o.train_dir = v.text("train_dir");
  o.validation_dir = v.text("validation_dir");
  o.image_root = v.text("image_root");
  o.image_column = v.text("image_column");
  o.caption_column = v.text("caption_column");
  o.find_image_column = !v.given("image_column");
  o.find_caption_column = !v.given("caption_column");
  o.max_seq_length = v.get<int64_t>("max_seq_length");
  o.max_train_samples = v.optional<int64_t>("max_train_samples");
  o.max_eval_samples = v.optional<int64_t>("max_eval_samples");
  o.max_predict_samples = v.optional<int64_t>("max_predict_samples");
  o.script_splits = v.flag("script_splits");
  o.pixel_semantics = v.text("pixel_semantics");
  o.exif_orientation = v.text("exif_orientation");
  o.max_image_pixels = v.get<int64_t>("max_image_pixels");
  o.on_bad_sample = v.text("on_bad_sample");
  o.caption_choice = v.text("caption_choice");
  o.allow_outside_paths = v.flag("allow_outside_paths");
  o.dataloader_num_workers = worker_count(v);
}

AugmentationOptions augmentation(const FlagValues& v) {
  AugmentationOptions a;
  const auto range = [&v](const char* name, std::array<double, 2>& into) {
    const Json& numbers = v.json(name);
    if (numbers.is_null()) return false;
    into = numbers.get<std::array<double, 2>>();
    usage_check(into[0] > 0 && into[0] <= into[1],
                concat("--", name, ": ", display_value(numbers),
                       " is no range: the first number is above 0 and at most the second"));
    return true;
  };
  a.random_resized_crop = range("random_resized_crop_scale", a.crop_scale);
  usage_check(!range("random_resized_crop_ratio", a.crop_ratio) || a.random_resized_crop,
              "--random_resized_crop_ratio belongs to --random_resized_crop_scale, which is not "
              "given");
  a.horizontal_flip = v.get<double>("random_horizontal_flip");
  a.color_jitter_probability = v.get<double>("color_jitter_prob");
  a.grayscale_probability = v.get<double>("grayscale_prob");
  if (const Json& jitter = v.json("color_jitter"); !jitter.is_null()) {
    a.color_jitter = jitter.get<std::array<double, 4>>();
    usage_check(a.color_jitter[3] <= 0.5, concat("--color_jitter: a hue of ", a.color_jitter[3],
                                                 " is too large; the largest value is 0.5"));
  } else {
    usage_check(!v.given("color_jitter_prob"),
                "--color_jitter_prob belongs to --color_jitter, which is not given");
  }
  return a;
}

void set_loading_options(const FlagValues& v, TrainOptions& o) {
  set_cache_options(v, o);
  o.dataloader_prefetch_factor = v.optional<int64_t>("dataloader_prefetch_factor");
  o.dataloader_drop_last = v.flag("dataloader_drop_last");
  o.mediapipe_dataloader = v.flag("mediapipe_dataloader");
  o.augmentation = augmentation(v);
  const bool keeps = o.decoded_cache == "ram" || o.decoded_cache == "disk";
  usage_check(!(keeps && o.augmentation.any()),
              concat("--decoded_cache ", o.decoded_cache,
                     " keeps finished pictures, but augmentation makes another one in every epoch; "
                     "leave one of the two out"));
  usage_check(!(o.mediapipe_dataloader && o.augmentation.any()),
              "--mediapipe_dataloader decodes without augmentation; leave one of the two out");
  usage_check(!(keeps && o.mediapipe_dataloader),
              concat("--decoded_cache ", o.decoded_cache,
                     " keeps what the host's decoder made, but --mediapipe_dataloader decodes "
                     "elsewhere; leave one of the two out"));
}

void set_step_options(const FlagValues& v, TrainOptions& o) {
  o.per_device_train_batch_size = v.get<int64_t>("per_device_train_batch_size");
  o.per_device_eval_batch_size = v.get<int64_t>("per_device_eval_batch_size");
  o.gradient_accumulation_steps = v.get<int64_t>("gradient_accumulation_steps");
  o.learning_rate = v.get<double>("learning_rate");
  o.weight_decay = v.get<double>("weight_decay");
  o.adam_beta1 = v.get<double>("adam_beta1");
  o.adam_beta2 = v.get<double>("adam_beta2");
  o.adam_epsilon = v.get<double>("adam_epsilon");
  o.max_grad_norm = v.get<double>("max_grad_norm");
  o.num_train_epochs = v.get<double>("num_train_epochs");
  o.max_steps = v.get<int64_t>("max_steps");
  o.lr_scheduler_type = v.text("lr_scheduler_type");
  if (const Json& more = v.json("lr_scheduler_kwargs"); !more.is_null())
    o.lr_scheduler_kwargs = more;
  o.warmup_ratio = v.get<double>("warmup_ratio");
  o.warmup_steps = v.get<double>("warmup_steps");
  usage_check(std::isfinite(o.learning_rate), "--learning_rate must be a finite number");
  usage_check(o.adam_beta1 < 1 && o.adam_beta2 < 1, "--adam_beta1 and --adam_beta2 are below 1");
  usage_check(o.warmup_ratio <= 1, "--warmup_ratio is a share between 0 and 1");
  usage_check(o.warmup_steps < 1 || o.warmup_steps == std::floor(o.warmup_steps),
              "--warmup_steps is a whole number of steps, or a share below 1");
}

void set_report_options(const FlagValues& v, TrainOptions& o) {
  o.eval_strategy = v.text("eval_strategy");
  o.eval_steps = v.optional<double>("eval_steps");
  o.eval_delay = v.get<double>("eval_delay");
  o.logging_strategy = v.text("logging_strategy");
  o.logging_steps = v.get<double>("logging_steps");
  o.logging_first_step = v.flag("logging_first_step");
  o.logging_nan_inf_filter = v.flag("logging_nan_inf_filter");
  o.save_strategy = v.text("save_strategy");
  o.save_steps = v.get<double>("save_steps");
  o.save_total_limit = v.optional<int64_t>("save_total_limit");
  o.logging_dir = v.text("logging_dir");
  o.run_name = v.text("run_name");
  o.disable_tqdm = v.optional<bool>("disable_tqdm").value_or(false);
  for (const std::string& where : v.words("report_to")) {
    const std::string service = where == "all" ? "tensorboard" : where;
    if (service == "none" ||
        std::find(o.report_to.begin(), o.report_to.end(), service) != o.report_to.end()) {
      continue;
    }
    o.report_to.push_back(service);
  }
  for (const char* name : {"logging_steps", "eval_steps", "save_steps"}) check_steps(v, name);
  usage_check(o.logging_strategy != "steps" || o.logging_steps > 0,
              "--logging_steps must be above 0 with --logging_strategy steps");
  usage_check(o.save_strategy != "steps" || o.save_steps > 0,
              "--save_steps must be above 0 with --save_strategy steps");
}

}  // namespace

void set_cache_options(const FlagValues& v, TrainOptions& o) {
  o.decoded_cache = v.text("decoded_cache");
  if (const std::string limit = v.text("decoded_cache_limit"); !limit.empty()) {
    o.decoded_cache_limit = parse_byte_size(limit, "--decoded_cache_limit");
  }
  o.decoded_cache_dtype = v.text("decoded_cache_dtype");
  o.decoded_cache_dir = v.text("decoded_cache_dir");
  usage_check(o.decoded_cache_dir.empty() || o.decoded_cache == "disk",
              concat("--decoded_cache_dir is where --decoded_cache disk keeps its file, but it is ",
                     o.decoded_cache));
}

int worker_count(const FlagValues& v) {
  const Json& workers = v.json("dataloader_num_workers");
  return workers.is_string() ? kAutoWorkers : workers.get<int>();
}

ExifOrientation exif_orientation(const FlagValues& v) {
  const std::string name = v.text("exif_orientation");
  return name == "on"    ? ExifOrientation::kOn
         : name == "off" ? ExifOrientation::kOff
                         : ExifOrientation::kAuto;
}

TrainOptions to_train_options(const FlagValues& v) {
  TrainOptions o;
  set_model_options(v, o);
  set_data_options(v, o);
  set_step_options(v, o);
  set_report_options(v, o);

  o.output_dir = v.text("output_dir");
  o.overwrite_output_dir = v.flag("overwrite_output_dir");
  o.do_train = v.flag("do_train");
  o.do_eval = v.flag("do_eval");
  o.do_predict = v.flag("do_predict");
  o.seed = v.get<uint64_t>("seed");
  o.data_seed = v.optional<uint64_t>("data_seed");
  set_loading_options(v, o);
  o.throughput_warmup_steps = v.get<int64_t>("throughput_warmup_steps");
  o.adjust_throughput = v.flag("adjust_throughput");
  o.device = v.flag("use_cpu") ? "cpu" : v.text("device");
  o.threads = thread_count(v);
  o.dump_step_tensors = v.text("dump_step_tensors");
  o.dump_sample_order = v.flag("dump_sample_order");
  // A boolean is what a file of flags, or a copied command, may hold.
  const std::string resume = v.text("resume_from_checkpoint");
  o.resume_from_checkpoint = resume == "true"                         ? "True"
                             : resume == "False" || resume == "false" ? ""
                                                                      : resume;
  o.as_json = v.as_json();

  usage_check(!o.output_dir.empty(), "--output_dir is missing: where should the results go?");
  usage_check(o.do_train || o.do_eval || o.do_predict,
              "nothing to do: give --do_train, --do_eval or --do_predict");
  usage_check(!o.model_name_or_path.empty(),
              "--model_name_or_path is missing: a model folder (`cantilever init` makes one)");
  usage_check(o.max_steps > 0 || o.num_train_epochs > 0 || !o.do_train,
              "--num_train_epochs is 0 and --max_steps is not given: there is nothing to train");
  return o;
}

TrainOptions to_search_options(const FlagValues& v, const std::string& split) {
  TrainOptions o;
  o.model_name_or_path = v.text("model_name_or_path");
  o.tokenizer_name = v.text("tokenizer_name");
  o.image_processor_name = v.text("image_processor_name");
  set_data_options(v, o);
  o.per_device_eval_batch_size = v.get<int64_t>("per_device_eval_batch_size");
  o.seed = v.get<uint64_t>("seed");
  o.threads = thread_count(v);
  o.do_train = split == "train";
  o.do_eval = split == "validation";
  o.do_predict = split == "test";
  usage_check(!o.model_name_or_path.empty(), "--model_name_or_path is missing: a model folder");
  return o;
}

SourceOptions to_source_options(const FlagValues& v, uint64_t splits_seed) {
  SourceOptions o;
  o.dataset_name = v.text("dataset_name");
  o.dataset_config_name = v.text("dataset_config_name");
  o.data_dir = v.text("data_dir");
  o.train_file = v.text("train_file");
  o.validation_file = v.text("validation_file");
  o.test_file = v.text("test_file");
  o.train_dir = v.text("train_dir");
  o.validation_dir = v.text("validation_dir");
  o.image_root = v.text("image_root");
  o.image_column = v.text("image_column");
  o.caption_column = v.text("caption_column");
  o.find_image_column = !v.given("image_column");
  o.find_caption_column = !v.given("caption_column");
  o.caption_choice = parse_caption_choice(v.text("caption_choice"));
  o.allow_outside_paths = v.flag("allow_outside_paths");
  o.script_splits = v.flag("script_splits");
  o.seed = splits_seed;
  return o;
}

}  // namespace cantilever
