#include "cantilever/train/model_card.h"

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <vector>

#include "cantilever/base/error.h"
#include "cantilever/train/checkpoint.h"

namespace cantilever {
namespace {

namespace fs = std::filesystem;
using Row = std::vector<std::string>;

// A name on the hub, or "" for a local path.
std::string hub_name(const std::string& name) {
  std::error_code error;
  if (name.empty() || name.front() == '/' || name.front() == '.' || fs::exists(name, error)) {
    return "";
  }
  return name;
}

std::string folder_name(const std::string& output_dir) {
  fs::path path = fs::absolute(output_dir).lexically_normal();
  if (path.filename().empty()) path = path.parent_path();
  const std::string name = path.filename().string();
  return name.empty() ? "bridgetower" : name;
}

std::string number(const Json& value) {
  if (!value.is_number_float()) return dump_json(value, -1);
  const std::string exact = dump_json(value, -1);
  const size_t point = exact.find('.');
  if (point == std::string::npos || exact.size() - point - 1 <= 4) return exact;
  char text[40];
  std::snprintf(text, sizeof text, "%.4f", value.get<double>());
  return text;
}

std::string table(const std::vector<Row>& rows) {
  std::vector<size_t> widths(rows.front().size());
  for (const Row& row : rows) {
    for (size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
  }
  std::string text;
  for (size_t r = 0; r < rows.size(); ++r) {
    for (size_t i = 0; i < widths.size(); ++i) {
      text += concat("| ", rows[r][i], std::string(widths[i] - rows[r][i].size() + 1, ' '));
    }
    text += "|\n";
    if (r > 0) continue;
    for (const size_t width : widths) text += concat("|:", std::string(width, '-'), ":");
    text += "|\n";
  }
  return text;
}

std::string yaml_text(const std::string& text) {
  return dump_json(Json(text), -1);
}

std::string metadata(const TrainOptions& options) {
  std::string text = "---\nlibrary_name: transformers\n";
  const std::string base = hub_name(options.model_name_or_path);
  if (!base.empty()) text += concat("base_model: ", yaml_text(base), "\n");
  text +=
      "tags:\n- bridgetower\n- contrastive-image-text\n- cantilever\n- generated_from_trainer\n";
  const std::string data = hub_name(options.dataset_name);
  if (!data.empty()) text += concat("datasets:\n- ", yaml_text(data), "\n");
  text += concat("model-index:\n- name: ", yaml_text(folder_name(options.output_dir)),
                 "\n  results: []\n---\n");
  return text;
}

std::string hyper_parameters(const TrainOptions& options) {
  std::vector<std::pair<std::string, std::string>> lines;
  const auto add = [&](const char* name, const Json& value) {
    lines.emplace_back(name, value.is_string() ? value.get<std::string>() : dump_json(value, -1));
  };
  const int64_t batch = options.per_device_train_batch_size;
  if (!options.run_name.empty()) add("run_name", yaml_text(options.run_name));
  add("learning_rate", options.learning_rate);
  add("train_batch_size", batch);
  add("eval_batch_size", options.per_device_eval_batch_size);
  add("seed", options.seed);
  if (options.gradient_accumulation_steps > 1) {
    add("gradient_accumulation_steps", options.gradient_accumulation_steps);
    add("total_train_batch_size", batch * options.gradient_accumulation_steps);
  }
  add("optimizer",
      concat("AdamW with betas=(", dump_json(options.adam_beta1, -1), ",",
             dump_json(options.adam_beta2, -1), "), epsilon=", dump_json(options.adam_epsilon, -1),
             " and weight decay ", dump_json(options.weight_decay, -1)));
  add("lr_scheduler_type", options.lr_scheduler_type);
  if (options.warmup_steps > 0) add("lr_scheduler_warmup_steps", options.warmup_steps);
  if (options.warmup_ratio > 0) add("lr_scheduler_warmup_ratio", options.warmup_ratio);
  if (options.max_steps > 0) {
    add("training_steps", options.max_steps);
  } else {
    add("num_epochs", options.num_train_epochs);
  }
  add("max_seq_length", options.max_seq_length);
  add("pixel_semantics", options.pixel_semantics);
  if (options.caption_choice != "auto") add("caption_choice", options.caption_choice);
  if (options.augmentation.any()) add("augmentation", describe_augmentation(options.augmentation));
  std::string text;
  for (const auto& [name, value] : lines) text += concat("- ", name, ": ", value, "\n");
  return text;
}

std::string evaluations(const Json& history) {
  std::vector<Row> rows = {{"Training Loss", "Epoch", "Step", "Validation Loss"}};
  std::string loss = "No log";
  for (const Json& entry : history) {
    if (entry.contains("loss")) loss = number(entry["loss"]);
    if (!entry.contains("eval_loss")) continue;
    rows.push_back(
        {loss, number(entry["epoch"]), number(entry["step"]), number(entry["eval_loss"])});
  }
  return rows.size() > 1 ? table(rows) : "";
}

}  // namespace

std::string make_model_card(const TrainOptions& options, const Json& history,
                            const Json& evaluation) {
  const std::string base = hub_name(options.model_name_or_path);
  const std::string data = hub_name(options.dataset_name);
  std::string text = metadata(options);
  text +=
      concat("\n<!-- Written by the training run itself; look through it and complete it. -->\n",
             "\n# ", folder_name(options.output_dir), "\n\n");
  text += base.empty() ? "A BridgeTower model fine-tuned from a local checkpoint"
                       : concat("A BridgeTower model fine-tuned from [", base,
                                "](https://huggingface.co/", base, ")");
  text += " with the contrastive image-text loss on ";
  text += data.empty() ? "a local data set.\n" : concat("the ", data, " data set.\n");
  if (evaluation.is_object() && evaluation.contains("eval_loss")) {
    text += concat("\nOn the validation split:\n- Loss: ", number(evaluation["eval_loss"]), "\n");
  }
  if (options.do_train) {
    text += concat("\n## Training\n\n### Hyper-parameters\n\n", hyper_parameters(options));
    const std::string results = evaluations(history);
    if (!results.empty()) text += concat("\n### Results\n\n", results);
  }
  text += "\n### Versions\n\n- Cantilever 0.1.0\n- file formats of Transformers 5.24\n";
  return text;
}

}  // namespace cantilever
