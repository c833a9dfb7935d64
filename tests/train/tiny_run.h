#pragma once

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "cantilever/base/rng.h"
#include "cantilever/data/image/png_writer.h"
#include "cantilever/data/text/bpe_trainer.h"
#include "cantilever/model/checkpoint_loader.h"
#include "cantilever/train/options.h"
#include "cantilever/train/workbench.h"

namespace cantilever::test {

// A deterministic stream of small numbers.
class Draws {
 public:
  explicit Draws(uint64_t key) : key_(key) {}
  uint32_t next() {
    return philox4x32({static_cast<uint32_t>(count_++), 0, 0, 0},
                      {static_cast<uint32_t>(key_), static_cast<uint32_t>(key_ >> 32)})[0];
  }
  int64_t below(int64_t limit) { return static_cast<int64_t>(next()) % limit; }

 private:
  uint64_t key_;
  uint64_t count_ = 0;
};

inline std::string make_caption(Draws& draws) {
  static const std::vector<std::string> words = {"a",     "red", "blue", "box",   "ball", "on",
                                                 "grass", "two", "dogs", "small", "hill", "of"};
  std::string text;
  for (int64_t i = 0, count = 2 + draws.below(6); i < count; ++i) {
    text += (text.empty() ? "" : " ") + words[static_cast<size_t>(draws.below(12))];
  }
  return text;
}

// `rows` pairs as pictures and a jsonl file; returns the file.
inline std::filesystem::path write_rows(const std::filesystem::path& folder, int64_t rows,
                                        uint64_t key) {
  std::filesystem::create_directories(folder);
  std::ofstream lines(folder / "rows.jsonl");
  Draws draws(key);
  for (int64_t row = 0; row < rows; ++row) {
    const int width = 64 + static_cast<int>(draws.below(30));
    const int height = 64 + static_cast<int>(draws.below(30));
    const auto hue = static_cast<uint8_t>(draws.below(256));
    std::vector<uint8_t> pixels(static_cast<size_t>(width * height * 3));
    for (size_t i = 0; i < pixels.size(); ++i) {
      pixels[i] = static_cast<uint8_t>(hue / 2 + (i % 3) * 20 + i / 97 % 60);
    }
    const std::string name = std::to_string(row) + ".png";
    write_png(folder / name, {pixels.data(), width, height});
    lines << "{\"image_path\": \"" << name << "\", \"caption\": \"" << make_caption(draws)
          << "\"}\n";
  }
  return folder / "rows.jsonl";
}

// A tiny model folder with a tokenizer of its own.
inline void write_model(const std::filesystem::path& folder, double dropout) {
  std::filesystem::create_directories(folder);
  Draws draws(7);
  int captions = 0;
  const auto tokenizer = train_tokenizer(
      [&]() -> std::optional<std::string> {
        if (captions++ == 40) return std::nullopt;
        return make_caption(draws);
      },
      300);
  tokenizer->save(folder);
  BridgeTowerConfig config = BridgeTowerConfig::of_size("tiny", tokenizer->vocab_size());
  config.text_config.hidden_dropout_prob = dropout;
  config.text_config.attention_probs_dropout_prob = dropout;
  BridgeTowerForContrastiveLearning model(config, ModelOptions{});
  model.initialize(3);
  save_checkpoint(model, folder);
  std::ofstream(folder / "preprocessor_config.json")
      << R"({"image_mean": [0.48, 0.45, 0.4], "image_std": [0.26, 0.26, 0.27]})";
}

// A model and rows in one folder, and options that train on them for a moment.
struct TinyRun {
  explicit TinyRun(const std::filesystem::path& folder, int64_t rows = 22, double dropout = 0.1) {
    write_model(folder / "model", dropout);
    options.model_name_or_path = (folder / "model").string();
    options.train_file = write_rows(folder / "train", rows, 11).string();
    options.validation_file = write_rows(folder / "validation", 7, 12).string();
    options.test_file = write_rows(folder / "test", 5, 13).string();
    options.image_root = (folder / "train").string();
    options.output_dir = (folder / "out").string();
    options.do_train = true;
    options.per_device_train_batch_size = 4;
    options.per_device_eval_batch_size = 3;
    options.learning_rate = 1e-3;
    options.max_seq_length = 16;
    options.logging_steps = 1;
    options.max_steps = 6;
    options.disable_tqdm = true;
    options.threads = 1;
    options.as_json["seed"] = 42;
  }

  TrainOptions options;
};

}  // namespace cantilever::test
