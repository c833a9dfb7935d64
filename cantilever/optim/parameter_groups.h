#pragma once

#include <string>

namespace cantilever {

// Trainer.get_decay_parameter_names of Transformers 5.24: false for biases and every LayerNorm,
// true for all others, embeddings and logit_scale included (bridgetower.md 10.2).
bool is_decayed(const std::string& parameter_name);

}  // namespace cantilever
