#include "cantilever/optim/parameter_groups.h"

#include <algorithm>
#include <cctype>
#include <string_view>

namespace cantilever {
namespace {

// A dotted component equal to "norm" or ending in "_norm".
bool has_norm_component(std::string_view name) {
  size_t begin = 0;
  while (begin <= name.size()) {
    const size_t end = std::min(name.find('.', begin), name.size());
    const std::string_view part = name.substr(begin, end - begin);
    if (part == "norm" || part.ends_with("_norm")) return true;
    begin = end + 1;
  }
  return false;
}

// The vision tower's LayerNorm modules do not carry the word in their names.
bool is_vision_layer_norm(std::string_view name) {
  for (const char* part : {".ln_1.", ".ln_2.", ".ln_pre.", ".ln_post.", ".ln_separate."}) {
    if (name.find(part) != std::string_view::npos) return true;
  }
  return false;
}

}  // namespace

bool is_decayed(const std::string& parameter_name) {
  std::string name = parameter_name;
  std::transform(name.begin(), name.end(), name.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  for (const char* part : {"bias", "layernorm", "rmsnorm"}) {
    if (name.find(part) != std::string::npos) return false;
  }
  return !has_norm_component(name) && !is_vision_layer_norm(name);
}

}  // namespace cantilever
