#pragma once

#include <string>
#include <vector>

#include "cantilever/io/json.h"

namespace cantilever {

// KEY=JSON, with KEY in `config` (as BridgeTowerConfig::to_json gives it), or in its text_config or
// vision_config as text_config.KEY; a value that is no JSON is a text. Throws UsageError for a key
// that is not there, with the nearest one.
void apply_config_overrides(const std::vector<std::string>& overrides, Json& config);

}  // namespace cantilever
