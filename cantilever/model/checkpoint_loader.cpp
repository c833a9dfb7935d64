#include "cantilever/model/checkpoint_loader.h"

#include <ATen/Parallel.h>

#include <algorithm>
#include <map>
#include <set>
#include <span>

#include "cantilever/base/error.h"
#include "cantilever/base/file.h"
#include "cantilever/io/safetensors.h"
#include "cantilever/io/weights.h"
#include "cantilever/model/initialize.h"

namespace cantilever {
namespace {

constexpr std::string_view kBase = "bridgetower.";
constexpr std::string_view kTextPooler = "bridgetower.text_model.pooler.";

bool is_head(std::string_view name) {
  return name.starts_with("itc_") || name == "logit_scale";
}

bool is_other_task(std::string_view name) {
  return name.starts_with("itm_score.") || name.starts_with("mlm_score.");
}

bool is_position_ids(std::string_view name) {
  return name == "position_ids" || name.ends_with(".position_ids");
}

bool is_floating(DType dtype) {
  return dtype == DType::kF16 || dtype == DType::kBF16 || dtype == DType::kF32 ||
         dtype == DType::kF64;
}

std::vector<int64_t> shape_of(const at::Tensor& tensor) {
  return tensor.sizes().vec();
}

// At most `limit` names in one line of a message.
std::string list_names(const std::vector<std::string>& names, size_t limit = 8) {
  std::string text;
  for (size_t i = 0; i < std::min(names.size(), limit); ++i) {
    text += (i == 0 ? "" : ", ") + quoted(names[i], 160);
  }
  if (names.size() > limit) text += concat(" and ", names.size() - limit, " more");
  return text;
}

// The tensors of a file under the names of the contrastive class. A file of the bare
// BridgeTowerModel lacks the prefix, which from_pretrained adds, too.
std::map<std::string, const TensorView*> tensors_by_name(const WeightFile& file) {
  const auto has_prefix = [](const TensorView& tensor) { return tensor.name.starts_with(kBase); };
  const auto& tensors = file.tensors();
  const bool bare = std::none_of(tensors.begin(), tensors.end(), has_prefix);
  std::map<std::string, const TensorView*> result;
  for (const TensorView& tensor : tensors) {
    const bool add = bare && !is_head(tensor.name) && !is_other_task(tensor.name);
    result[(add ? std::string(kBase) : std::string()) + tensor.name] = &tensor;
  }
  return result;
}

struct Plan {
  struct Copy {
    const TensorView* from;
    at::Tensor to;
  };
  std::vector<Copy> copies;
  std::vector<std::string> fresh;  // names to initialise
  std::vector<std::string> missing, unexpected, misshaped;
  LoadReport report;
};

Plan make_plan(const BridgeTowerForContrastiveLearning& model,
               const std::map<std::string, const TensorView*>& tensors, bool fresh_heads) {
  Plan plan;
  std::set<std::string> known;
  for (const auto& item : model.named_parameters()) {
    const std::string& name = item.key();
    known.insert(name);
    const auto found = tensors.find(name);
    if (found == tensors.end()) {
      if (name.starts_with(kTextPooler)) {
        plan.report.forgiven_missing.push_back(name);
        plan.fresh.push_back(name);
      } else if (is_head(name) && fresh_heads) {
        plan.report.fresh.push_back(name);
        plan.fresh.push_back(name);
      } else {
        plan.missing.push_back(name);
      }
    } else if (found->second->shape != shape_of(item.value())) {
      plan.misshaped.push_back(concat(name, " ", format_shape(found->second->shape), " for ",
                                      format_shape(shape_of(item.value()))));
    } else if (!is_floating(found->second->dtype)) {
      plan.misshaped.push_back(concat(name, " of type ", dtype_name(found->second->dtype)));
    } else {
      plan.copies.push_back({found->second, item.value()});
    }
  }
  for (const auto& [name, tensor] : tensors) {
    if (known.contains(name)) continue;
    if (name.starts_with(kTextPooler) || is_other_task(name) || is_position_ids(name)) {
      plan.report.forgiven_unexpected.push_back(name);
    } else {
      plan.unexpected.push_back(name);
    }
  }
  return plan;
}

void refuse_mismatch(const Plan& plan, const std::string& where) {
  std::string text;
  if (!plan.missing.empty()) {
    text += concat("\n  missing (", plan.missing.size(), "): ", list_names(plan.missing));
  }
  if (!plan.unexpected.empty()) {
    text += concat("\n  unexpected (", plan.unexpected.size(), "): ", list_names(plan.unexpected));
  }
  if (!plan.misshaped.empty()) {
    text += concat("\n  wrong shape or type (", plan.misshaped.size(),
                   "): ", list_names(plan.misshaped));
  }
  CANTILEVER_CHECK(text.empty(), where, ": the weights do not fit config.json:", text);
}

// Width of the heads in the file: 0 when it has none at all.
int64_t width_of_heads(const std::map<std::string, const TensorView*>& tensors) {
  const auto found = tensors.find("itc_text_head.fc.weight");
  return found == tensors.end() || found->second->shape.empty() ? 0 : found->second->shape[0];
}

// Settles the width of the contrastive heads and says whether they are to be made new.
bool resolve_heads(BridgeTowerConfig& config, const std::optional<int64_t>& wanted,
                   const std::map<std::string, const TensorView*>& tensors,
                   const std::string& where) {
  const bool has_heads = std::any_of(tensors.begin(), tensors.end(),
                                     [](const auto& item) { return is_head(item.first); });
  if (wanted) {
    CANTILEVER_CHECK(*wanted > 0, "--contrastive_hidden_size is ", *wanted,
                     "; it must be positive");
    const int64_t width = has_heads ? width_of_heads(tensors) : *wanted;
    CANTILEVER_CHECK(width == *wanted, where, ": --contrastive_hidden_size is ", *wanted,
                     ", but the checkpoint has contrastive heads of width ", width,
                     "; leave the option away to use them");
    config.contrastive_hidden_size = *wanted;
    return !has_heads;
  }
  CANTILEVER_CHECK(
      has_heads, where,
      ": the checkpoint has no contrastive heads (itc_*, logit_scale), as three of the "
      "four published ones; --contrastive_hidden_size N adds fresh ones of width N "
      "(512 in the published checkpoint that has them)");
  CANTILEVER_CHECK(config.contrastive_hidden_size.has_value(), where,
                   ": config.json has no contrastive_hidden_size, although the weights hold "
                   "contrastive heads; --contrastive_hidden_size N says their width");
  return false;
}

// Refuses a configuration far larger than its weights before memory is asked for: the two cannot
// belong together, and a number in a text file should not be what decides how much is allocated.
void check_size(const BridgeTowerConfig& config, const WeightFile& file) {
  const auto number = [](int64_t value) { return static_cast<double>(value); };
  const BridgeTowerTextConfig& text = config.text_config;
  const BridgeTowerVisionConfig& vision = config.vision_config;
  const double width = number(config.hidden_size);
  const double square = width * width;
  const double feed_forward = 2 * width * number(text.intermediate_size);
  const double described =
      width * number(text.vocab_size + text.max_position_embeddings + text.type_vocab_size) +
      number(text.num_hidden_layers) * (4 * square + feed_forward) +
      number(vision.num_hidden_layers) * 12 * square + width * number(vision.image_tokens()) +
      width * number(vision.num_channels) * number(vision.patch_size) * number(vision.patch_size) +
      2 * number(config.num_hidden_layers) * (8 * square + feed_forward);
  double held = 0;
  for (const TensorView& tensor : file.tensors()) held += number(tensor.numel());
  CANTILEVER_CHECK(described <= 4 * held + 1e7, file.description(), " holds ", held,
                   " values, but config.json describes a model of about ", described,
                   "; they do not belong together");
}

void run_plan(const Plan& plan, const BridgeTowerForContrastiveLearning& model, uint64_t seed) {
  const auto count = static_cast<int64_t>(plan.copies.size());
  at::parallel_for(0, count, 1, [&](int64_t first, int64_t last) {
    for (int64_t i = first; i < last; ++i) {
      const Plan::Copy& copy = plan.copies[static_cast<size_t>(i)];
      copy_as_float32(*copy.from, {static_cast<float*>(copy.to.data_ptr()),
                                   static_cast<size_t>(copy.to.numel())});
    }
  });
  const auto parameters = model.named_parameters();
  for (const std::string& name : plan.fresh) {
    initialize_parameter(name, parameters[name], model.config(), seed);
  }
}

}  // namespace

std::shared_ptr<BridgeTowerForContrastiveLearning> load_checkpoint(
    const std::filesystem::path& folder, const LoadOptions& options, LoadReport* report) {
  BridgeTowerConfig config = BridgeTowerConfig::from_folder(folder);
  const std::unique_ptr<WeightFile> file = open_weights(folder);
  const auto tensors = tensors_by_name(*file);
  const std::string where = file->description();
  const bool fresh_heads = resolve_heads(config, options.contrastive_hidden_size, tensors, where);
  check_size(config, *file);
  auto model = std::make_shared<BridgeTowerForContrastiveLearning>(config, options.model);
  Plan plan = make_plan(*model, tensors, fresh_heads);
  refuse_mismatch(plan, where);
  run_plan(plan, *model, options.seed);
  if (report != nullptr) *report = std::move(plan.report);
  return model;
}

void save_checkpoint(const BridgeTowerForContrastiveLearning& model,
                     const std::filesystem::path& folder, const Json& extra) {
  make_folders(folder);
  Json config = model.config().to_json();
  config["architectures"] = Json::array({"BridgeTowerForContrastiveLearning"});
  config["dtype"] = "float32";
  // from_pretrained notes the type in the parts, too, when it has read them from a file.
  if (!model.config().source.empty()) {
    config["text_config"]["dtype"] = "float32";
    config["vision_config"]["dtype"] = "float32";
  }
  config.update(extra);
  write_json(folder / "config.json", config, 2, /*sort_keys=*/true);

  std::vector<TensorView> tensors;
  for (const auto& item : model.named_parameters()) {
    const at::Tensor& value = item.value();
    CANTILEVER_ASSERT(value.is_contiguous(), item.key());
    tensors.push_back({item.key(), DType::kF32, shape_of(value),
                       std::as_bytes(std::span(static_cast<const float*>(value.data_ptr()),
                                               static_cast<size_t>(value.numel())))});
  }
  write_safetensors(folder / "model.safetensors", std::move(tensors));
}

}  // namespace cantilever
