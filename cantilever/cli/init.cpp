#include <filesystem>
#include <fstream>

#include "cantilever/base/error.h"
#include "cantilever/base/file.h"
#include "cantilever/cli/config_overrides.h"
#include "cantilever/cli/cpus.h"
#include "cantilever/cli/flag_tables.h"
#include "cantilever/cli/output.h"
#include "cantilever/cli/run_commands.h"
#include "cantilever/data/source/open_source.h"
#include "cantilever/data/text/bpe_trainer.h"
#include "cantilever/model/checkpoint_loader.h"
#include "cantilever/train/workbench.h"

namespace cantilever {
namespace {

namespace fs = std::filesystem;
using enum FlagType;

FlagGroup init_flags() {
  return {
      "Model",
      {
          own("output_dir", kString, "null",
              "Folder to make: config.json, weights, tokenizer, "
              "preprocessor_config.json."),
          own("overwrite_output_dir", kBool, "false", "Write into a folder that has content."),
          own("size", kString, "\"tiny\"", "Geometry.").one_of({"tiny", "small", "base", "large"}),
          own("config", kString, "null", "A config.json (or its folder) instead of --size."),
          own("config_overrides", kStrings, "[]",
              "KEY=JSON changes a field of the configuration, such as hidden_size=128 or "
              "text_config.num_hidden_layers=4. May be repeated.")
              .accumulating()
              .alias("set"),
          own("image_size", kInt, "null", "Side of the pictures; vision_config.image_size.")
              .at_least(1),
          own("dropout", kFloat, "null",
              "Both dropout rates of text_config. Default: 0.1, as Transformers.")
              .at_least(0),
          own("seed", kInt, "42", "Of the weights.").at_least(0),
      }};
}

FlagGroup tokenizer_flags() {
  return {"Tokenizer",
          {
              own("tokenizer_name", kString, "null", "Folder of a tokenizer to take."),
              own("captions_from", kString, "null",
                  "Learn a byte-level BPE from these captions: a text file with one a line, or a "
                  "data set."),
              own("caption_column", kString, "\"caption\"", "Column of the data set's captions."),
              own("image_column", kString, "\"image_path\"",
                  "Column of the data set's pictures (they are not read)."),
              own("caption_choice", kString, "\"auto\"",
                  "Of rows with several captions: learn from the first, or from all.")
                  .one_of({"auto", "first", "random", "all"}),
              own("vocab_size", kInt, "null",
                  "Pieces to learn. Default: the size's own (tiny 600, small 4096, base and large "
                  "8192).")
                  .at_least(261),
          }};
}

const FlagTable& flags() {
  static const FlagTable table({init_flags(), tokenizer_flags(), common_flags()});
  return table;
}

void check_output_folder(const fs::path& folder, bool overwrite) {
  std::error_code error;
  if (!fs::exists(folder, error)) return;
  CANTILEVER_CHECK(fs::is_directory(folder), folder.string(),
                   " is no folder; choose another "
                   "--output_dir");
  CANTILEVER_CHECK(overwrite || fs::is_empty(folder, error), folder.string(),
                   " is not empty; choose another --output_dir, or give --overwrite_output_dir");
}

int64_t wanted_vocabulary(const FlagValues& values) {
  if (const auto asked = values.optional<int64_t>("vocab_size")) return *asked;
  const std::string size = values.text("size");
  return size == "tiny" ? 600 : size == "small" ? 4096 : 8192;
}

std::shared_ptr<const Tokenizer> learn_from_lines(const fs::path& file, int64_t vocab_size) {
  std::ifstream lines(file);
  CANTILEVER_CHECK(lines, "cannot open ", file.string());
  return train_tokenizer(
      [&lines]() -> std::optional<std::string> {
        std::string line;
        if (!std::getline(lines, line)) return std::nullopt;
        if (line.ends_with('\r')) line.pop_back();
        return line;
      },
      vocab_size);
}

// From a JSON-lines file only the caption column is needed, so that captions without pictures will
// do.
std::shared_ptr<const Tokenizer> learn_from_json_lines(const fs::path& file,
                                                       const std::string& column,
                                                       int64_t vocab_size) {
  std::ifstream lines(file);
  CANTILEVER_CHECK(lines, "cannot open ", file.string());
  int64_t number = 0;
  return train_tokenizer(
      [&]() -> std::optional<std::string> {
        for (std::string line; std::getline(lines, line);) {
          ++number;
          if (line.find_first_not_of(" \t\r") == std::string::npos) continue;
          const std::string where = concat(file.string(), " line ", number);
          const Json row = parse_json(line, where);
          CANTILEVER_CHECK(row.is_object() && row.contains(column) && row.at(column).is_string(),
                           where, ": there is no text ", quoted(column),
                           "; name the captions with --caption_column");
          return row.at(column).get<std::string>();
        }
        return std::nullopt;
      },
      vocab_size);
}

std::shared_ptr<const Tokenizer> learn_from_set(const FlagValues& values, int64_t vocab_size) {
  SourceOptions options;
  options.dataset_name = values.text("captions_from");
  options.caption_column = values.text("caption_column");
  options.image_column = values.text("image_column");
  options.find_image_column = !values.given("image_column");
  options.find_caption_column = !values.given("caption_column");
  options.caption_choice = parse_caption_choice(values.text("caption_choice"));
  const auto splits = open_splits(options);
  const auto found = splits.find("train");
  const auto source = found != splits.end() ? found->second : splits.begin()->second;
  int64_t row = 0;
  return train_tokenizer(
      [&]() -> std::optional<std::string> {
        if (row == source->size()) return std::nullopt;
        return source->caption(row++);
      },
      vocab_size);
}

std::shared_ptr<const Tokenizer> make_tokenizer(const FlagValues& values) {
  const std::string folder = values.text("tokenizer_name");
  const fs::path captions = values.text("captions_from");
  if (folder.empty() == captions.empty()) {
    throw UsageError("give --tokenizer_name or --captions_from, one of the two");
  }
  if (!folder.empty()) return Tokenizer::from_folder(folder);
  const int64_t vocab_size = wanted_vocabulary(values);
  if (captions.extension() == ".txt") return learn_from_lines(captions, vocab_size);
  if (captions.extension() == ".jsonl") {
    return learn_from_json_lines(captions, values.text("caption_column"), vocab_size);
  }
  return learn_from_set(values, vocab_size);
}

BridgeTowerConfig make_config(const FlagValues& values, const Tokenizer& tokenizer) {
  Json json;
  std::string where = concat("size ", values.text("size"));
  if (const fs::path file = values.text("config"); !file.empty()) {
    if (values.given("size")) throw UsageError("give --size or --config, one of the two");
    where = (fs::is_directory(file) ? file / "config.json" : file).string();
    json = BridgeTowerConfig::from_json(read_json(where), where).to_json();
    if (!json.contains("contrastive_hidden_size")) json["contrastive_hidden_size"] = 512;
    if (!json.contains("logit_scale_init_value")) json["logit_scale_init_value"] = 2.6592;
  } else {
    json = BridgeTowerConfig::of_size(values.text("size"), tokenizer.vocab_size()).to_json();
  }
  if (const auto side = values.optional<int64_t>("image_size")) {
    json["vision_config"]["image_size"] = *side;
  }
  if (const auto rate = values.optional<double>("dropout")) {
    json["text_config"]["hidden_dropout_prob"] = *rate;
    json["text_config"]["attention_probs_dropout_prob"] = *rate;
  }
  apply_config_overrides(values.words("config_overrides"), json);
  BridgeTowerConfig config = BridgeTowerConfig::from_json(json, where);
  config.source["architectures"] = Json::array({"BridgeTowerForContrastiveLearning"});
  const int64_t room = config.text_config.vocab_size;
  CANTILEVER_CHECK(room >= tokenizer.vocab_size(), where, ": text_config.vocab_size is ", room,
                   ", but the tokenizer has ", tokenizer.vocab_size(),
                   " pieces; learn fewer with --vocab_size");
  return config;
}

// What save_pretrained of BridgeTowerImageProcessor writes with size and crop_size set to the side.
Preprocessor make_preprocessor(int64_t side) {
  Preprocessor processor;
  processor.mean = {0.48145466F, 0.4578275F, 0.40821073F};
  processor.std = {0.26862954F, 0.26130258F, 0.27577711F};
  Json& json = processor.json;
  json["crop_size"]["shortest_edge"] = side;
  for (const char* step : {"do_center_crop", "do_normalize", "do_pad", "do_rescale", "do_resize"}) {
    json[step] = true;
  }
  json["image_mean"] = {0.48145466, 0.4578275, 0.40821073};
  json["image_processor_type"] = "BridgeTowerImageProcessor";
  json["image_std"] = {0.26862954, 0.26130258, 0.27577711};
  json["resample"] = 3;
  json["rescale_factor"] = 1.0 / 255;
  json["size"]["shortest_edge"] = side;
  json["size_divisor"] = 32;
  return processor;
}

int run(const FlagValues& values) {
  const fs::path folder = values.text("output_dir");
  if (folder.empty()) throw UsageError("--output_dir is missing: where should the model go?");
  check_output_folder(folder, values.flag("overwrite_output_dir"));
  use_threads(values);

  const auto tokenizer = make_tokenizer(values);
  const BridgeTowerConfig config = make_config(values, *tokenizer);
  ModelOptions options;
  options.text_pooler = true;  // from_config makes one; training drops it
  BridgeTowerForContrastiveLearning model(config, options);
  model.initialize(values.get<uint64_t>("seed"));

  make_folders(folder);
  save_checkpoint(model, folder);
  tokenizer->save(folder);
  make_preprocessor(config.vision_config.image_size).save(folder);

  int64_t count = 0;
  for (const auto& parameter : model.parameters()) count += parameter.numel();
  print(concat(folder.string(), ": ", count, " parameters, vocabulary ", tokenizer->vocab_size(),
               ", pictures ", config.vision_config.image_size, "x", config.vision_config.image_size,
               ", seed ", values.get<uint64_t>("seed"), "\n"));
  return 0;
}

}  // namespace

Command init_command() {
  return {"init", "Make a fresh model folder: weights, tokenizer, configuration.",
          "--output_dir DIR (--tokenizer_name DIR | --captions_from FILE) [--flag value ...]",
          &flags, &run};
}

}  // namespace cantilever
