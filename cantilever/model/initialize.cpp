#include "cantilever/model/initialize.h"

#include <ATen/Parallel.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>
#include <string_view>

#include "cantilever/base/error.h"
#include "cantilever/base/rng.h"

namespace cantilever {
namespace {

bool is_layer_norm_weight(std::string_view name) {
  for (const char* part : {"LayerNorm.weight", "layernorm.weight", ".ln_1.weight", ".ln_2.weight",
                           ".ln_pre.weight", ".ln_post.weight"}) {
    if (name.ends_with(part)) return true;
  }
  return name.find(".ln_separate.") != std::string_view::npos && name.ends_with(".weight");
}

double vision_std(std::string_view name, const BridgeTowerVisionConfig& vision) {
  const auto width = static_cast<double>(vision.hidden_size);
  const auto layers = static_cast<double>(vision.num_hidden_layers);
  const double attention = 1 / std::sqrt(width);
  if (name.ends_with(".in_proj_weight") || name.ends_with(".class_embedding") ||
      name.ends_with(".position_embedding.weight")) {
    return attention * vision.initializer_factor;
  }
  if (name.ends_with(".out_proj.weight") || name.ends_with(".c_proj.weight")) {
    return attention / std::sqrt(2 * layers) * vision.initializer_factor;
  }
  if (name.ends_with(".c_fc.weight")) return vision.initializer_factor / std::sqrt(2 * width);
  return 0.05 * vision.initializer_factor;  // patches
}

uint64_t hash_of(std::string_view name) {  // FNV-1a
  uint64_t hash = 0xCBF29CE484222325ULL;
  for (const char c : name) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001B3ULL;
  return hash;
}

// Four normal numbers of one Philox block, by Box and Muller.
std::array<float, 4> normal_block(uint64_t block, std::array<uint32_t, 2> key) {
  const std::array<uint32_t, 4> draws =
      philox4x32({static_cast<uint32_t>(block), static_cast<uint32_t>(block >> 32), 0, 0}, key);
  std::array<float, 4> result;
  for (size_t pair = 0; pair < 2; ++pair) {
    const auto unit = static_cast<float>((draws[2 * pair] + 0.5) * 0x1p-32);  // (0, 1]
    const auto angle =
        static_cast<float>(2 * std::numbers::pi * 0x1p-32 * draws[2 * pair + 1]);  // [0, 2 pi)
    const float radius = std::sqrt(-2 * std::log(unit));
    result[2 * pair] = radius * std::cos(angle);
    result[2 * pair + 1] = radius * std::sin(angle);
  }
  return result;
}

}  // namespace

Distribution initial_distribution(const std::string& name, const BridgeTowerConfig& config) {
  constexpr std::string_view kVision = "bridgetower.vision_model.";
  constexpr std::string_view kText = "bridgetower.text_model.";
  if (name == "logit_scale") {
    return {config.logit_scale_init_value.value_or(kLogitScaleInitValue), 0};
  }
  if (name.ends_with("bias")) return {0, 0};
  if (name.ends_with(".scaled_factor")) return {1, 0};
  if (name.ends_with(".beta")) return {0.5, 0};
  if (is_layer_norm_weight(name)) return {1, 0};
  if (name.starts_with(kVision)) return {0, vision_std(name, config.vision_config)};
  if (name.starts_with(kText)) return {0, 0.05 * config.text_config.initializer_factor};
  return {0, 0.05 * config.initializer_factor};
}

void initialize_parameter(const std::string& name, const at::Tensor& parameter,
                          const BridgeTowerConfig& config, uint64_t seed) {
  CANTILEVER_ASSERT(parameter.is_contiguous(), name);
  const Distribution distribution = initial_distribution(name, config);
  const auto mean = static_cast<float>(distribution.mean);
  const auto std = static_cast<float>(distribution.std);
  float* values = static_cast<float*>(parameter.data_ptr());
  const int64_t count = parameter.numel();
  if (distribution.std == 0) {
    std::fill(values, values + count, mean);
    return;
  }
  const uint64_t key = mix_key(seed, hash_of(name));
  const std::array<uint32_t, 2> words = {static_cast<uint32_t>(key),
                                         static_cast<uint32_t>(key >> 32)};
  at::parallel_for(0, (count + 3) / 4, 4096, [&](int64_t first, int64_t last) {
    for (int64_t block = first; block < last; ++block) {
      const std::array<float, 4> normal = normal_block(static_cast<uint64_t>(block), words);
      const int64_t begin = 4 * block;
      for (int64_t i = 0; i < std::min<int64_t>(4, count - begin); ++i) {
        values[begin + i] = mean + std * normal[static_cast<size_t>(i)];
      }
    }
  });
}

}  // namespace cantilever
