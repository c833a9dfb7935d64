#include <filesystem>
#include <map>

#include "cantilever/base/error.h"
#include "cantilever/base/log.h"
#include "cantilever/cli/cpus.h"
#include "cantilever/cli/flag_tables.h"
#include "cantilever/cli/output.h"
#include "cantilever/cli/run_commands.h"
#include "cantilever/cli/to_options.h"
#include "cantilever/cli/version.h"
#include "cantilever/data/text/tokenizer.h"
#include "cantilever/io/weights.h"
#include "cantilever/model/config.h"
#include "cantilever/train/checkpoint_folders.h"

namespace cantilever {
namespace {

namespace fs = std::filesystem;
using enum FlagType;

const FlagTable& flags() {
  static const FlagTable table(
      {{"Info",
        {
            own("path", kStrings, "[]",
                "Model folder, weight file, checkpoint, output folder or data set; nothing: this "
                "build. The words after `info` without a flag are paths.")
                .accumulating(),
            own("json", kBool, "false", "As one JSON object a path."),
            own("tensors", kBool, "false", "List every tensor."),
        }},
       data_flags(),
       common_flags()},
      "path");
  return table;
}

bool is_file(const fs::path& path) {
  std::error_code ignored;
  return fs::is_regular_file(path, ignored);
}

bool holds_weights(const fs::path& folder) {
  for (const char* name : {"model.safetensors", "model.safetensors.index.json", "pytorch_model.bin",
                           "pytorch_model.bin.index.json"}) {
    if (is_file(folder / name)) return true;
  }
  return false;
}

Json tell_weights(const fs::path& path, bool list) {
  const auto weights = open_weights(path);
  Json out = Json::object();
  out["file"] = weights->description();
  int64_t elements = 0, bytes = 0;
  std::map<std::string, int64_t> types;
  Json tensors = Json::array();
  for (const TensorView& tensor : weights->tensors()) {
    elements += tensor.numel();
    bytes += static_cast<int64_t>(tensor.data.size());
    types[dtype_name(tensor.dtype)] += 1;
    if (list) {
      tensors.push_back(
          concat(tensor.name, " ", dtype_name(tensor.dtype), " ", format_shape(tensor.shape)));
    }
  }
  out["tensors"] = weights->tensors().size();
  out["elements"] = elements;
  out["bytes"] = bytes;
  out["dtypes"] = Json(types);
  out["metadata"] = Json(weights->metadata());
  if (list) out["tensor_list"] = std::move(tensors);
  return out;
}

Json tell_config(const fs::path& folder) {
  const BridgeTowerConfig config = BridgeTowerConfig::from_folder(folder);
  const BridgeTowerTextConfig& text = config.text_config;
  const BridgeTowerVisionConfig& vision = config.vision_config;
  Json out = Json::object();
  out["hidden_size"] = config.hidden_size;
  out["cross_modal_layers"] = config.num_hidden_layers;
  out["link_tower_type"] = config.link_tower_type;
  out["contrastive_hidden_size"] =
      config.contrastive_hidden_size ? Json(*config.contrastive_hidden_size) : Json(nullptr);
  out["text"] = concat(text.num_hidden_layers, " layers of ", text.hidden_size, ", ",
                       text.num_attention_heads, " heads, vocabulary ", text.vocab_size,
                       ", dropout ", text.hidden_dropout_prob);
  out["vision"] =
      concat(vision.num_hidden_layers, " layers of ", vision.hidden_size, ", pictures ",
             vision.image_size, "x", vision.image_size, " in patches of ", vision.patch_size);
  return out;
}

Json tell_model(const fs::path& folder, bool list) {
  Json out = Json::object();
  out["config"] = tell_config(folder);
  out["weights"] = holds_weights(folder) ? tell_weights(folder, list) : Json("none");
  if (is_file(folder / "tokenizer.json") || is_file(folder / "vocab.json")) {
    out["tokenizer"] = concat(Tokenizer::from_folder(folder)->vocab_size(), " pieces");
  } else {
    out["tokenizer"] = "none";
  }
  out["preprocessor"] =
      is_file(folder / "preprocessor_config.json") || is_file(folder / "processor_config.json")
          ? "there"
          : "none";
  return out;
}

Json tell_checkpoint(const fs::path& folder) {
  Json out = Json::object();
  const std::string reason = why_incomplete(folder);
  out["complete"] = reason.empty();
  if (!reason.empty()) out["reason"] = reason;
  if (is_file(folder / "trainer_state.json")) {
    const std::string where = (folder / "trainer_state.json").string();
    const Json state = read_json(where);
    for (const char* key : {"global_step", "max_steps", "epoch", "num_train_epochs"}) {
      if (state.is_object() && state.contains(key)) out[key] = state[key];
    }
  }
  return out;
}

Json tell_run(const fs::path& folder) {
  Json out = Json::object();
  Json checkpoints = Json::array();
  for (const CheckpointFolder& checkpoint : list_checkpoints(folder)) {
    const std::string reason = why_incomplete(checkpoint.path);
    checkpoints.push_back(concat(checkpoint.path.filename().string(),
                                 reason.empty() ? "" : concat(" (incomplete: ", reason, ")")));
  }
  out["checkpoints"] = std::move(checkpoints);
  if (is_file(folder / "all_results.json")) {
    out["results"] = read_json(folder / "all_results.json");
  }
  return out;
}

Json tell_set(const fs::path& path, const FlagValues& values) {
  SourceOptions options = to_source_options(values);
  options.dataset_name = path.string();
  Json out = Json::object();
  out["columns"] = list_columns(describe_columns(options));
  Json& splits = out["splits"];
  for (const auto& [name, source] : open_splits(options)) {
    splits[name]["rows"] = source->size();
    splits[name]["source"] = source->description();
  }
  return out;
}

bool is_weight_file(const fs::path& path) {
  const std::string extension = path.extension().string();
  return is_file(path) && (extension == ".safetensors" || extension == ".bin" ||
                           extension == ".pt" || path.string().ends_with(".index.json"));
}

Json tell_path(const fs::path& path, const FlagValues& values) {
  std::error_code ignored;
  CANTILEVER_CHECK(fs::exists(path, ignored), path.string(), " does not exist");
  const bool list = values.flag("tensors");
  Json out = Json::object();
  out["path"] = path.string();
  if (is_weight_file(path)) {
    out["weights"] = tell_weights(path, list);
    return out;
  }
  const bool folder = fs::is_directory(path, ignored);
  if (folder && is_file(path / "config.json")) {
    out["model"] = tell_model(path, list);
  } else if (folder && holds_weights(path)) {
    out["weights"] = tell_weights(path, list);
  }
  if (folder && (is_file(path / kCompleteMarker) || is_file(path / "optimizer.safetensors") ||
                 is_file(path / "optimizer.pt"))) {
    out["checkpoint"] = tell_checkpoint(path);
  }
  if (folder && (is_file(path / "all_results.json") || !list_checkpoints(path).empty())) {
    out["run"] = tell_run(path);
  }
  if (out.size() == 1) out["data_set"] = tell_set(path, values);
  return out;
}

int run(const FlagValues& values) {
  const auto paths = values.words("path");
  const bool as_json = values.flag("json");
  // What opening says at info level is said by the report.
  if (!values.flag("debug")) set_log_level(LogLevel::kWarning);
  if (paths.empty()) show_json(build_information(use_threads(values)), as_json);
  for (size_t i = 0; i < paths.size(); ++i) {
    if (i > 0 && !as_json) print("\n");
    show_json(tell_path(paths[i], values), as_json);
  }
  return 0;
}

}  // namespace

Command info_command() {
  return {"info",
          "Say what a model, weight file, checkpoint, output folder, data set or this build is.",
          "[PATH...] [--json] [--flag value ...]", &flags, &run};
}

}  // namespace cantilever
