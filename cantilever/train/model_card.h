#pragma once

#include <string>

#include "cantilever/train/options.h"

namespace cantilever {

// The README.md of an output folder: metadata block as the hub reads it (library_name, base_model,
// tags, datasets, model-index), what it was made from, hyper-parameters, and a table of the
// evaluations. `history`: log_history with a last evaluation behind it, if there was one. Local
// paths are not written: they mean nothing elsewhere.
std::string make_model_card(const TrainOptions& options, const Json& history,
                            const Json& evaluation);

}  // namespace cantilever
