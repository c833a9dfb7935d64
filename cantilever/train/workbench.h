#pragma once

#include <array>
#include <filesystem>
#include <map>
#include <memory>
#include <string>

#include "cantilever/data/loader/batch_loader.h"
#include "cantilever/model/contrastive.h"
#include "cantilever/train/options.h"

namespace cantilever {

// What the training needs of preprocessor_config.json: mean and standard deviation. The rest is
// kept and written back.
struct Preprocessor {
  Json json = Json::object();
  std::array<float, 3> mean{};
  std::array<float, 3> std{};

  // From a folder's preprocessor_config.json, or the "image_processor" of its
  // processor_config.json. With neither: CLIP's numbers, and a warning. Throws Error for lists that
  // are not three numbers.
  static Preprocessor from_folder(const std::filesystem::path& folder);
  void save(const std::filesystem::path& folder) const;  // preprocessor_config.json
};

// Everything a run works with, opened and checked.
struct Workbench {
  std::shared_ptr<BridgeTowerForContrastiveLearning> model;  // frozen as asked for
  std::shared_ptr<const Tokenizer> tokenizer;
  Preprocessor preprocessor;
  std::map<std::string, std::shared_ptr<ExampleSource>> splits;  // those that are wanted, cut

  // Throws Error naming the split and those there are.
  std::shared_ptr<ExampleSource> split(const std::string& name) const;
};

// Opens data, tokenizer, preprocessor and model. `checkpoint`: take the weights from there (empty:
// from model_name_or_path). Throws Error: nothing to do, a split missing or without rows, a
// tokenizer with more pieces than the model has embeddings, max_seq_length too long for the model.
Workbench open_workbench(const TrainOptions& options, const std::filesystem::path& checkpoint);

// The loader's options for training (shuffled, augmented, with random captions when asked for) or
// evaluation (in order). The cache is left off: picture_cache.h decides it.
LoaderOptions loader_options(const TrainOptions& options, const Workbench& bench, bool training);

}  // namespace cantilever
