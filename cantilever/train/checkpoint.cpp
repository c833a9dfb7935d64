#include "cantilever/train/checkpoint.h"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "cantilever/base/error.h"
#include "cantilever/base/file.h"
#include "cantilever/io/safetensors.h"
#include "cantilever/model/checkpoint_loader.h"
#include "cantilever/train/checkpoint_folders.h"

namespace cantilever {
namespace {

namespace fs = std::filesystem;

constexpr int64_t kStateFormat = 2;

TensorView view_of(const std::string& name, const at::Tensor& tensor) {
  TensorView view;
  view.name = name;
  view.dtype = DType::kF32;
  view.shape.assign(tensor.sizes().begin(), tensor.sizes().end());
  view.data = {static_cast<const std::byte*>(tensor.const_data_ptr()), tensor.nbytes()};
  return view;
}

void write_moments(const fs::path& path, const FlatParameters& parameters, int64_t steps) {
  std::vector<TensorView> views;
  std::vector<at::Tensor> kept;
  for (const ParameterSlot& slot : parameters.slots()) {
    kept.push_back(FlatParameters::view(parameters.exp_avg(), slot).contiguous());
    views.push_back(view_of("exp_avg." + slot.name, kept.back()));
    kept.push_back(FlatParameters::view(parameters.exp_avg_sq(), slot).contiguous());
    views.push_back(view_of("exp_avg_sq." + slot.name, kept.back()));
  }
  TensorView count;
  count.name = "step";
  count.dtype = DType::kI64;
  count.data = std::as_bytes(std::span(&steps, 1));
  views.push_back(count);
  write_safetensors(path, std::move(views));
}

void copy_moment(const WeightFile& file, const std::string& name, const at::Tensor& target) {
  const TensorView* found = file.find(name);
  CANTILEVER_CHECK(found != nullptr, file.description(), ": there is no ", quoted(name),
                   "; was another part of the model frozen when it was written?");
  const std::vector<int64_t> shape(target.sizes().begin(), target.sizes().end());
  CANTILEVER_CHECK(found->shape == shape, file.description(), ": ", quoted(name), " has shape ",
                   format_shape(found->shape), ", not ", format_shape(shape));
  std::vector<float> values(static_cast<size_t>(target.numel()));
  copy_as_float32(*found, values);
  std::memcpy(target.mutable_data_ptr(), values.data(), values.size() * sizeof(float));
}

void sync_file(const fs::path& path) {
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  CANTILEVER_CHECK(descriptor >= 0, path.string(), ": ", std::strerror(errno));
  const int result = ::fsync(descriptor);
  const int reason = errno;
  ::close(descriptor);
  CANTILEVER_CHECK(result == 0, path.string(),
                   " could not be flushed to disk: ", std::strerror(reason));
}

void check_free_space(const fs::path& output_dir, const CheckpointContent& content) {
  int64_t bytes = 2 * content.parameters.size() * int64_t{sizeof(float)};
  for (const auto& parameter : content.bench.model->parameters()) {
    bytes += static_cast<int64_t>(parameter.nbytes());
  }
  bytes += int64_t{16} << 20;  // tokenizer, states, history
  std::error_code error;
  const fs::space_info space = fs::space(output_dir, error);
  if (error) return;  // unknown: the writes themselves will tell
  CANTILEVER_CHECK(space.available >= static_cast<uintmax_t>(bytes), output_dir.string(),
                   ": a checkpoint needs about ", bytes >> 20, " MiB, but only ",
                   space.available >> 20, " MiB are free; make room, or lower --save_total_limit");
}

void write_files(const fs::path& folder, const CheckpointContent& content) {
  save_trained_model(*content.bench.model, folder);
  content.bench.tokenizer->save(folder, content.options.max_seq_length);
  content.bench.preprocessor.save(folder);
  write_moments(folder / "optimizer.safetensors", content.parameters, content.optimizer_steps);
  content.trainer_state.save(folder / "trainer_state.json");
  write_json(folder / "cantilever_state.json", content.resume_state.to_json(), 2);
  write_json(folder / "training_args.json", content.options.as_json, 2, true);
}

void write_marker(const fs::path& folder, int64_t step) {
  Json files = Json::object();
  for (const auto& entry : fs::directory_iterator(folder)) {
    if (!entry.is_regular_file()) continue;
    sync_file(entry.path());
    files[entry.path().filename().string()] = static_cast<uint64_t>(entry.file_size());
  }
  sync_folder(folder);
  Json marker;
  marker["global_step"] = step;
  marker["files"] = std::move(files);
  write_json(folder / kCompleteMarker, marker, 2, true);
  sync_folder(folder);
}

// Swaps with a folder that stands where the new one belongs, so that there is always a whole one.
void put_in_place(const fs::path& temporary, const fs::path& target) {
  std::error_code error;
  if (fs::exists(target) &&
      ::renameat2(AT_FDCWD, temporary.c_str(), AT_FDCWD, target.c_str(), RENAME_EXCHANGE) == 0) {
    sync_folder(target.parent_path());
    fs::remove_all(temporary, error);
    return;
  }
  fs::remove_all(target, error);  // only where the file system cannot swap
  fs::rename(temporary, target, error);
  CANTILEVER_CHECK(!error, temporary.string(), " could not be renamed to ", target.string(), ": ",
                   error.message());
  sync_folder(target.parent_path());
}

template <class T>
T required(const Json& json, const char* key, const std::string& where) {
  CANTILEVER_CHECK(json.contains(key), where, ": ", quoted(key), " is missing");
  return json_value<T>(json, key, T{}, where);
}

std::string exact_text(double value) {
  char text[64];
  std::snprintf(text, sizeof text, "%a", value);
  return text;
}

double exact_value(const Json& json, const char* key, const std::string& where) {
  const auto text = required<std::string>(json, key, where);
  char* end = nullptr;
  const double value = std::strtod(text.c_str(), &end);
  CANTILEVER_CHECK(!text.empty() && *end == '\0', where, ": ", quoted(key), " is ", quoted(text),
                   ", which is no number");
  return value;
}

}  // namespace

Json ResumeState::to_json() const {
  Json json;
  json["format"] = kStateFormat;
  json["global_step"] = global_step;
  json["epoch"] = epoch;
  json["micro_batch"] = micro_batch;
  json["epoch_end_due"] = epoch_end_due;
  json["evaluation_due"] = evaluation_due;
  json["running_loss"] = exact_text(static_cast<double>(running_loss));
  json["running_steps"] = running_steps;
  json["total_loss"] = exact_text(total_loss);
  json["gradient_norm"] = exact_text(gradient_norm);
  json["learning_rate"] = exact_text(learning_rate);
  Json bad = Json::array();
  for (const BadSample& sample : bad_samples) {
    bad.push_back({{"row", sample.row}, {"reason", sample.reason}});
  }
  json["bad_samples"] = std::move(bad);
  json["rows"] = rows;
  json["batch_size"] = batch_size;
  json["gradient_accumulation_steps"] = accumulation;
  json["max_seq_length"] = max_seq_length;
  json["seed"] = seed;
  json["data_seed"] = data_seed;
  json["pixel_semantics"] = pixel_semantics;
  json["exif_orientation"] = exif_orientation;
  json["on_bad_sample"] = on_bad_sample;
  json["caption_choice"] = caption_choice;
  json["augmentation"] = augmentation;
  json["cached_pixels"] = cached_pixels;
  json["dataloader_drop_last"] = drop_last;
  json["threads"] = threads;
  return json;
}

ResumeState ResumeState::from_json(const Json& json, const std::string& where) {
  CANTILEVER_CHECK(json.is_object(), where, ": holds no object");
  const auto format = required<int64_t>(json, "format", where);
  CANTILEVER_CHECK(format == kStateFormat, where, ": is of format ", format,
                   ", but this version reads format ", kStateFormat);
  ResumeState state;
  state.global_step = required<int64_t>(json, "global_step", where);
  state.epoch = required<int64_t>(json, "epoch", where);
  state.micro_batch = required<int64_t>(json, "micro_batch", where);
  state.epoch_end_due = required<bool>(json, "epoch_end_due", where);
  state.evaluation_due = required<bool>(json, "evaluation_due", where);
  state.running_loss = static_cast<float>(exact_value(json, "running_loss", where));
  state.running_steps = required<int64_t>(json, "running_steps", where);
  state.total_loss = exact_value(json, "total_loss", where);
  state.gradient_norm = exact_value(json, "gradient_norm", where);
  state.learning_rate = exact_value(json, "learning_rate", where);
  const auto bad = required<Json>(json, "bad_samples", where);
  for (const auto& sample : bad) {
    state.bad_samples.push_back(
        {required<int64_t>(sample, "row", where), required<std::string>(sample, "reason", where)});
  }
  state.rows = required<int64_t>(json, "rows", where);
  state.batch_size = required<int64_t>(json, "batch_size", where);
  state.accumulation = required<int64_t>(json, "gradient_accumulation_steps", where);
  state.max_seq_length = required<int64_t>(json, "max_seq_length", where);
  state.seed = required<uint64_t>(json, "seed", where);
  state.data_seed = required<uint64_t>(json, "data_seed", where);
  state.pixel_semantics = required<std::string>(json, "pixel_semantics", where);
  state.exif_orientation = required<std::string>(json, "exif_orientation", where);
  state.on_bad_sample = required<std::string>(json, "on_bad_sample", where);
  // Checkpoints of 0.1.0 do not have these.
  state.caption_choice = json_value<std::string>(json, "caption_choice", "auto", where);
  state.augmentation = json_value<std::string>(json, "augmentation", "none", where);
  state.cached_pixels = json_value<std::string>(json, "cached_pixels", "exact", where);
  state.drop_last = required<bool>(json, "dataloader_drop_last", where);
  state.threads = required<int>(json, "threads", where);
  CANTILEVER_CHECK(state.global_step >= 0 && state.epoch >= 0 && state.micro_batch >= 0 &&
                       state.running_steps >= 0,
                   where, ": a position is negative");
  return state;
}

std::string describe_augmentation(const AugmentationOptions& options) {
  std::string text;
  const auto add = [&text](const char* name, const auto&... numbers) {
    text += concat(text.empty() ? "" : ", ", name);
    ((text += concat(" ", numbers)), ...);
  };
  if (options.random_resized_crop) {
    add("random_resized_crop_scale", options.crop_scale[0], options.crop_scale[1]);
    add("random_resized_crop_ratio", options.crop_ratio[0], options.crop_ratio[1]);
  }
  if (options.horizontal_flip > 0) add("random_horizontal_flip", options.horizontal_flip);
  if (const auto& jitter = options.color_jitter; jitter != std::array<double, 4>{}) {
    add("color_jitter", jitter[0], jitter[1], jitter[2], jitter[3]);
    add("color_jitter_prob", options.color_jitter_probability);
  }
  if (options.grayscale_probability > 0) add("grayscale_prob", options.grayscale_probability);
  return text.empty() ? "none" : text;
}

ResumeState ResumeState::of_run(const TrainOptions& options, int64_t rows,
                                const std::string& cached_pixels) {
  ResumeState state;
  state.rows = rows;
  state.batch_size = options.per_device_train_batch_size;
  state.accumulation = options.gradient_accumulation_steps;
  state.max_seq_length = options.max_seq_length;
  state.seed = options.seed;
  state.data_seed = options.data_seed.value_or(options.seed);
  state.pixel_semantics = options.pixel_semantics;
  state.exif_orientation = options.exif_orientation;
  state.on_bad_sample = options.on_bad_sample;
  state.caption_choice = options.caption_choice;
  state.augmentation = describe_augmentation(options.augmentation);
  state.cached_pixels = cached_pixels;
  state.drop_last = options.dataloader_drop_last;
  state.threads = at::get_num_threads();
  return state;
}

std::vector<std::string> ResumeState::differences(const ResumeState& now) const {
  std::vector<std::string> lines;
  const auto compare = [&](const char* name, const auto& then, const auto& current) {
    if (then != current) lines.push_back(concat(name, ": ", then, " then, ", current, " now"));
  };
  compare("rows of the train split", rows, now.rows);
  compare("per_device_train_batch_size", batch_size, now.batch_size);
  compare("gradient_accumulation_steps", accumulation, now.accumulation);
  compare("max_seq_length", max_seq_length, now.max_seq_length);
  compare("seed", seed, now.seed);
  compare("data_seed", data_seed, now.data_seed);
  compare("pixel_semantics", pixel_semantics, now.pixel_semantics);
  compare("exif_orientation", exif_orientation, now.exif_orientation);
  compare("on_bad_sample", on_bad_sample, now.on_bad_sample);
  compare("caption_choice", caption_choice, now.caption_choice);
  compare("augmentation", augmentation, now.augmentation);
  compare("pixels of the decoded cache", cached_pixels, now.cached_pixels);
  const auto word = [](bool value) { return value ? "True" : "False"; };
  if (drop_last != now.drop_last) {
    lines.push_back(
        concat("dataloader_drop_last: ", word(drop_last), " then, ", word(now.drop_last), " now"));
  }
  compare("threads", threads, now.threads);
  return lines;
}

fs::path write_checkpoint(const fs::path& output_dir, int64_t step,
                          const CheckpointContent& content) {
  make_folders(output_dir);
  check_free_space(output_dir, content);
  const fs::path target = output_dir / concat("checkpoint-", step);
  const fs::path temporary = concat(target.string(), ".tmp-", ::getpid());
  std::error_code error;
  fs::remove_all(temporary, error);
  make_folders(temporary);
  try {
    write_files(temporary, content);
    write_marker(temporary, step);
    put_in_place(temporary, target);
  } catch (const Error& problem) {
    fs::remove_all(temporary, error);
    throw_error(concat("checkpoint-", step, " was not written: ", problem.what()));
  }
  return target;
}

void save_trained_model(const BridgeTowerForContrastiveLearning& model, const fs::path& folder) {
  save_checkpoint(model, folder);
  Json config = read_json(folder / "config.json");
  config["use_cache"] = false;
  write_json(folder / "config.json", config, 2, true);
}

int64_t read_moments(const fs::path& checkpoint, FlatParameters& parameters) {
  const auto file = open_safetensors(checkpoint / "optimizer.safetensors");
  for (const ParameterSlot& slot : parameters.slots()) {
    copy_moment(*file, "exp_avg." + slot.name, FlatParameters::view(parameters.exp_avg(), slot));
    copy_moment(*file, "exp_avg_sq." + slot.name,
                FlatParameters::view(parameters.exp_avg_sq(), slot));
  }
  const size_t expected = 2 * parameters.slots().size() + 1;
  CANTILEVER_CHECK(file->tensors().size() == expected, file->description(), ": holds ",
                   file->tensors().size(), " tensors, but the parameters trained now have ",
                   expected, "; was another part of the model frozen when it was written?");
  const TensorView* count = file->find("step");
  CANTILEVER_CHECK(count != nullptr && count->dtype == DType::kI64 && count->numel() == 1,
                   file->description(), ": 'step' is missing or is not one I64");
  int64_t steps = 0;
  std::memcpy(&steps, count->data.data(), sizeof steps);
  CANTILEVER_CHECK(steps >= 0, file->description(), ": 'step' is ", steps);
  return steps;
}

ResumeState read_resume_state(const fs::path& checkpoint) {
  const fs::path path = checkpoint / "cantilever_state.json";
  return ResumeState::from_json(read_json(path), path.string());
}

}  // namespace cantilever
