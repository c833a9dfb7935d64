#include "cantilever/cli/config_overrides.h"

#include <algorithm>

#include "cantilever/base/error.h"

namespace cantilever {
namespace {

std::vector<std::string> known_keys(const Json& config) {
  std::vector<std::string> keys;
  for (const auto& [key, value] : config.items()) {
    if (!value.is_object()) {
      keys.push_back(key);
      continue;
    }
    for (const auto& entry : value.items()) keys.push_back(concat(key, ".", entry.key()));
  }
  return keys;
}

Json json_or_text(const std::string& text) {
  try {
    return parse_json(text, "");
  } catch (const Error&) {
    return text;
  }
}

}  // namespace

void apply_config_overrides(const std::vector<std::string>& overrides, Json& config) {
  const std::vector<std::string> keys = known_keys(config);
  for (const std::string& text : overrides) {
    const size_t equals = text.find('=');
    if (equals == std::string::npos) {
      throw UsageError(concat("--config_overrides: ", quoted(text), " is not KEY=JSON"));
    }
    const std::string key = text.substr(0, equals);
    if (std::find(keys.begin(), keys.end(), key) == keys.end()) {
      const std::string nearest = nearest_name(key, keys);
      throw UsageError(concat("--config_overrides: the configuration has no ", quoted(key),
                              nearest.empty() ? "" : concat("; did you mean ", nearest, "?")));
    }
    const size_t dot = key.find('.');
    Json& part = dot == std::string::npos ? config : config[key.substr(0, dot)];
    part[dot == std::string::npos ? key : key.substr(dot + 1)] =
        json_or_text(text.substr(equals + 1));
  }
}

}  // namespace cantilever
