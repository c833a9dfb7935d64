#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cantilever/model/contrastive.h"

namespace cantilever {

// What loading found, for the log and for `info`.
struct LoadReport {
  std::vector<std::string> forgiven_missing;  // text pooler
  std::vector<std::string>
      forgiven_unexpected;         // text pooler, itm_score.*, mlm_score.*, position_ids
  std::vector<std::string> fresh;  // heads made new by contrastive_hidden_size
};

struct LoadOptions {
  ModelOptions model;
  // Adds fresh contrastive heads of this width to a checkpoint that has none.
  std::optional<int64_t> contrastive_hidden_size;
  uint64_t seed = 42;  // of the fresh parts
};

// Reads config.json and the weights of a folder (any floating dtype becomes float32). Missing,
// unexpected and mis-shaped names are reported together in one Error, but for what
// bridgetower.md 1.2, 13.16 and 15 forgive. Three of the four published checkpoints have no
// contrastive heads: an Error that names --contrastive_hidden_size N.
std::shared_ptr<BridgeTowerForContrastiveLearning> load_checkpoint(
    const std::filesystem::path& folder, const LoadOptions& options, LoadReport* report = nullptr);

// config.json and model.safetensors, as save_pretrained of Transformers 5.24 writes them. `extra`:
// members set at the top level of config.json (its Trainer sets {"use_cache": false}).
void save_checkpoint(const BridgeTowerForContrastiveLearning& model,
                     const std::filesystem::path& folder, const Json& extra = Json::object());

}  // namespace cantilever
