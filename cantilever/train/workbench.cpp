#include "cantilever/train/workbench.h"

#include <algorithm>

#include "cantilever/base/error.h"
#include "cantilever/base/log.h"
#include "cantilever/data/source/open_source.h"
#include "cantilever/model/checkpoint_loader.h"

namespace cantilever {
namespace {

namespace fs = std::filesystem;

std::array<float, 3> three_numbers(const Json& json, const char* key, const std::string& where,
                                   const std::array<float, 3>& fallback) {
  if (!json.contains(key) || json.at(key).is_null()) return fallback;
  const Json& list = json.at(key);
  CANTILEVER_CHECK(list.is_array() && list.size() == 3, where, ": ", quoted(key), " is ",
                   quoted(list.dump()), ", but it must be a list of three numbers");
  std::array<float, 3> numbers{};
  for (size_t i = 0; i < 3; ++i) {
    CANTILEVER_CHECK(list[i].is_number(), where, ": ", quoted(key), " is ", quoted(list.dump()),
                     ", but it must be a list of three numbers");
    numbers[i] = list[i].get<float>();
  }
  return numbers;
}

std::string join_names(const std::map<std::string, std::shared_ptr<ExampleSource>>& splits) {
  std::string names;
  for (const auto& [name, source] : splits) names += (names.empty() ? "" : ", ") + name;
  return names.empty() ? "none" : names;
}

SourceOptions source_options(const TrainOptions& options) {
  SourceOptions source;
  source.dataset_name = options.dataset_name;
  source.dataset_config_name = options.dataset_config_name;
  source.data_dir = options.data_dir;
  source.train_file = options.train_file;
  source.validation_file = options.validation_file;
  source.test_file = options.test_file;
  source.train_dir = options.train_dir;
  source.validation_dir = options.validation_dir;
  source.image_root = options.image_root;
  source.image_column = options.image_column;
  source.caption_column = options.caption_column;
  source.find_image_column = options.find_image_column;
  source.find_caption_column = options.find_caption_column;
  source.caption_choice = parse_caption_choice(options.caption_choice);
  source.allow_outside_paths = options.allow_outside_paths;
  source.script_splits = options.script_splits;
  source.seed = options.seed;
  return source;
}

void take_splits(const TrainOptions& options, Workbench& bench) {
  const auto splits = open_splits(source_options(options));
  const auto take = [&](bool wanted, const char* name, const std::optional<int64_t>& limit,
                        const char* flag) {
    if (!wanted) return;
    const auto found = splits.find(name);
    CANTILEVER_CHECK(found != splits.end(), "there is no ", name, " split, only ",
                     join_names(splits));
    auto source = found->second;
    CANTILEVER_CHECK(!limit || *limit > 0, "--", flag, " is ", limit.value_or(0),
                     ", which leaves no rows");
    if (limit && *limit < source->size()) source = take_first(source, *limit);
    CANTILEVER_CHECK(source->size() > 0, "the ", name,
                     " split has no rows: ", source->description());
    bench.splits[name] = source;
  };
  take(options.do_train, "train", options.max_train_samples, "max_train_samples");
  const bool evaluates = options.do_eval || (options.do_train && options.eval_strategy != "no");
  take(evaluates, "validation", options.max_eval_samples, "max_eval_samples");
  take(options.do_predict, "test", options.max_predict_samples, "max_predict_samples");
}

void take_model(const TrainOptions& options, const fs::path& checkpoint, Workbench& bench) {
  LoadOptions load;
  load.model.text_pooler = !options.freeze_text_pooler;
  load.seed = options.seed;
  if (checkpoint.empty()) load.contrastive_hidden_size = options.contrastive_hidden_size;
  const fs::path folder = checkpoint.empty() ? fs::path(options.model_name_or_path) : checkpoint;
  LoadReport report;
  bench.model = load_checkpoint(folder, load, &report);
  for (const std::string& name : report.fresh) log_info(concat("new parameter: ", name));
  if (!report.forgiven_unexpected.empty()) {
    log_info(concat(folder.string(), ": ", report.forgiven_unexpected.size(),
                    " tensors have no place in this model and are left out, the first is ",
                    report.forgiven_unexpected.front()));
  }
  if (options.freeze_vision_model) bench.model->freeze_vision_model();
  if (options.freeze_text_model) bench.model->freeze_text_model();
}

void check_fit(const TrainOptions& options, const Workbench& bench) {
  const BridgeTowerTextConfig& text = bench.model->config().text_config;
  CANTILEVER_CHECK(bench.tokenizer->vocab_size() <= text.vocab_size, "the tokenizer has ",
                   bench.tokenizer->vocab_size(), " pieces, but the model only ", text.vocab_size,
                   " word embeddings (text_config.vocab_size); give the --tokenizer_name that "
                   "belongs to the model");
  // RoBERTa numbers positions from pad_token_id + 1 on.
  const int64_t longest = text.max_position_embeddings - text.pad_token_id - 1;
  CANTILEVER_CHECK(options.max_seq_length >= 2 && options.max_seq_length <= longest,
                   "--max_seq_length is ", options.max_seq_length, "; this model takes 2 to ",
                   longest, " (text_config.max_position_embeddings is ",
                   text.max_position_embeddings, ")");
  if (bench.tokenizer->pad_id() != text.pad_token_id) {
    warn_once("pad id", concat("the tokenizer pads with id ", bench.tokenizer->pad_id(),
                               ", but text_config.pad_token_id is ", text.pad_token_id,
                               ": positions will be counted wrongly"));
  }
}

const char* kModelHint =
    "; give a model folder with --model_name_or_path (`cantilever init` makes one)";

}  // namespace

Preprocessor Preprocessor::from_folder(const fs::path& folder) {
  static constexpr std::array<float, 3> kClipMean = {0.48145466F, 0.4578275F, 0.40821073F};
  static constexpr std::array<float, 3> kClipStd = {0.26862954F, 0.26130258F, 0.27577711F};
  Preprocessor preprocessor;
  const fs::path own = folder / "preprocessor_config.json";
  const fs::path shared = folder / "processor_config.json";
  fs::path used = own;
  if (fs::exists(own)) {
    preprocessor.json = read_json(own);
  } else if (fs::exists(shared)) {
    used = shared;
    const Json json = read_json(shared);
    if (json.is_object()) {
      preprocessor.json = json_value<Json>(json, "image_processor", Json(), shared.string());
    }
  }
  if (!preprocessor.json.is_object() || preprocessor.json.empty()) {
    log_warning(concat(folder.string(), ": no preprocessor_config.json with image_mean and ",
                       "image_std; CLIP's are used"));
    preprocessor.json = Json::object();
  }
  preprocessor.mean = three_numbers(preprocessor.json, "image_mean", used.string(), kClipMean);
  preprocessor.std = three_numbers(preprocessor.json, "image_std", used.string(), kClipStd);
  for (const float value : preprocessor.std) {
    CANTILEVER_CHECK(value > 0, used.string(), ": 'image_std' has ", value, "; it must be above 0");
  }
  if (preprocessor.json.empty()) {
    preprocessor.json["image_mean"] = kClipMean;
    preprocessor.json["image_processor_type"] = "BridgeTowerImageProcessor";
    preprocessor.json["image_std"] = kClipStd;
  }
  return preprocessor;
}

void Preprocessor::save(const fs::path& folder) const {
  write_json(folder / "preprocessor_config.json", json, 2, true);
}

std::shared_ptr<ExampleSource> Workbench::split(const std::string& name) const {
  const auto found = splits.find(name);
  CANTILEVER_CHECK(found != splits.end(), "there is no ", name, " split, only ",
                   join_names(splits));
  return found->second;
}

Workbench open_workbench(const TrainOptions& options, const fs::path& checkpoint) {
  CANTILEVER_CHECK(options.do_train || options.do_eval || options.do_predict,
                   "nothing to do: give --do_train, --do_eval or --do_predict");
  CANTILEVER_CHECK(options.device == "auto" || options.device == "cpu", "--device is ",
                   quoted(options.device), ", but this build computes on the CPU only");
  const fs::path folder = options.model_name_or_path;
  CANTILEVER_CHECK(!folder.empty(), "--model_name_or_path is missing", kModelHint);
  CANTILEVER_CHECK(fs::is_directory(folder), quoted(folder.string()), " is no folder", kModelHint);
  Workbench bench;
  take_splits(options, bench);
  const auto folder_or = [&](const std::string& name) {
    return name.empty() ? folder : fs::path(name);
  };
  bench.tokenizer = Tokenizer::from_folder(folder_or(options.tokenizer_name));
  bench.preprocessor = Preprocessor::from_folder(folder_or(options.image_processor_name));
  take_model(options, checkpoint, bench);
  check_fit(options, bench);
  return bench;
}

LoaderOptions loader_options(const TrainOptions& options, const Workbench& bench, bool training) {
  LoaderOptions loader;
  loader.batch_size =
      training ? options.per_device_train_batch_size : options.per_device_eval_batch_size;
  CANTILEVER_CHECK(loader.batch_size >= 1, "the batch size is ", loader.batch_size,
                   ", but it must be at least 1");
  loader.max_seq_length = options.max_seq_length;
  CANTILEVER_CHECK(
      options.dataloader_num_workers >= 0 || options.dataloader_num_workers == kAutoWorkers,
      "--dataloader_num_workers is ", options.dataloader_num_workers);
  loader.num_workers = options.dataloader_num_workers;
  const int64_t factor = options.dataloader_prefetch_factor.value_or(2);
  CANTILEVER_CHECK(factor >= 1 && factor <= 1024, "--dataloader_prefetch_factor is ", factor,
                   "; it can be 1 to 1024");
  loader.prefetch = factor * std::max(1, options.dataloader_num_workers);  // as PyTorch's
  loader.random_captions = training && options.caption_choice == "random";
  if (training) loader.augmentation = options.augmentation;
  loader.device_decode = options.mediapipe_dataloader;
  CANTILEVER_CHECK(options.max_image_pixels >= 1, "--max_image_pixels is ",
                   options.max_image_pixels);
  loader.decode.max_pixels = options.max_image_pixels;
  loader.seed = options.data_seed.value_or(options.seed);
  loader.shuffle = training;
  loader.drop_last = options.dataloader_drop_last;  // of evaluation too, as the Trainer does
  loader.transform.side = static_cast<int>(bench.model->config().vision_config.image_size);
  loader.transform.mean = bench.preprocessor.mean;
  loader.transform.std = bench.preprocessor.std;
  loader.transform.semantics = parse_pixel_semantics(options.pixel_semantics);
  const std::string& exif = options.exif_orientation;
  CANTILEVER_CHECK(exif == "auto" || exif == "on" || exif == "off", "--exif_orientation is ",
                   quoted(exif), "; it can be auto, on or off");
  loader.exif_orientation = exif == "on"    ? ExifOrientation::kOn
                            : exif == "off" ? ExifOrientation::kOff
                                            : ExifOrientation::kAuto;
  const std::string& bad = options.on_bad_sample;
  CANTILEVER_CHECK(bad == "fail" || bad == "skip", "--on_bad_sample is ", quoted(bad),
                   "; it can be fail or skip");
  loader.on_bad_sample = bad == "skip" ? OnBadSample::kSkip : OnBadSample::kFail;
  return loader;
}

}  // namespace cantilever
