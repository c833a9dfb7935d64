#include "cantilever/train/picture_cache.h"

#include <algorithm>

#include "cantilever/base/error.h"
#include "cantilever/data/loader/decoded_cache_rows.h"

namespace cantilever {
namespace {

PixelType kept_type(const TrainOptions& options, PixelSemantics semantics) {
  if (options.decoded_cache_dtype != "auto") return parse_pixel_type(options.decoded_cache_dtype);
  return has_whole_levels(semantics) ? PixelType::kUint8 : PixelType::kFloat32;
}

CacheTier asked_tier(const TrainOptions& options, const SplitUse& use) {
  const std::string& name = options.decoded_cache;
  CANTILEVER_CHECK(name == "auto" || name == "ram" || name == "disk" || name == "off",
                   "--decoded_cache is ", quoted(name), "; it can be auto, ram, disk or off");
  if (name == "disk") return CacheTier::kDisk;
  return name != "off" && use.training ? CacheTier::kRam : CacheTier::kOff;
}

std::filesystem::path cache_folder(const TrainOptions& options) {
  return options.decoded_cache_dir.empty()
             ? std::filesystem::path(options.output_dir) / "decoded_cache"
             : std::filesystem::path(options.decoded_cache_dir);
}

// Why auto keeps nothing although pictures would fit; empty when nothing speaks against it.
std::string why_not(const TrainOptions& options, const SplitUse& use) {
  if (options.augmentation.any()) return "augmentation makes another picture in every epoch";
  if (options.mediapipe_dataloader) return "pictures are decoded by --mediapipe_dataloader";
  if (use.passes <= 1) return "every row is read once";
  return "";
}

CacheDecision no_cache(const std::string& name, const std::string& why) {
  CacheDecision decision;
  decision.pixel_type = "exact";
  decision.reason =
      concat("decoded cache of the ", name, " split: off", why.empty() ? "" : ", ", why);
  return decision;
}

}  // namespace

CacheDecision decide_cache(const TrainOptions& options, const SplitUse& use, int64_t free_bytes) {
  const CacheTier tier = asked_tier(options, use);
  if (tier == CacheTier::kOff) return no_cache(use.name, "");
  const bool automatic = options.decoded_cache == "auto";
  if (automatic) {
    if (const std::string reason = why_not(options, use); !reason.empty()) {
      return no_cache(use.name, reason);
    }
  }
  const PixelSemantics semantics = parse_pixel_semantics(options.pixel_semantics);
  const PixelType type = kept_type(options, semantics);
  const int64_t values = int64_t{3} * use.side * use.side;
  const double picture = static_cast<double>(values) * static_cast<double>(pixel_bytes(type));
  const double needed = picture * static_cast<double>(use.rows);
  const int64_t limit = options.decoded_cache_limit.value_or(free_bytes);
  const bool fits = cache_fits(use.rows, values, type, limit);
  const std::string sizes =
      concat(use.rows, " pictures as ", pixel_type_name(type), ", ", format_bytes(needed), " of ",
             format_bytes(static_cast<double>(limit)), " allowed");
  if (automatic && !fits) {
    const bool smaller = type == PixelType::kFloat32 && options.decoded_cache_dtype == "auto";
    return no_cache(use.name,
                    concat("it would not fit (", sizes, "); --decoded_cache disk keeps a file",
                           smaller ? ", --pixel_semantics tv-u8 takes a quarter of the room" : ""));
  }
  CacheDecision decision;
  decision.options.tier = tier;
  decision.options.type = type;
  // No more than the split needs is asked of the machine.
  decision.options.limit_bytes = needed < static_cast<double>(limit)
                                     ? values * use.rows * static_cast<int64_t>(pixel_bytes(type))
                                     : limit;
  if (tier == CacheTier::kDisk) decision.options.folder = cache_folder(options);
  decision.rounds =
      type == PixelType::kBfloat16 || (type == PixelType::kUint8 && !has_whole_levels(semantics));
  decision.pixel_type = decision.rounds ? pixel_type_name(type) : "exact";
  const auto held = static_cast<int64_t>(static_cast<double>(limit) / picture);
  decision.reason = concat(
      "decoded cache of the ", use.name, " split: ",
      tier == CacheTier::kRam ? "in memory" : concat("in ", decision.options.folder.string()), ", ",
      sizes, fits ? "" : concat("; ", std::min(held, use.rows), " pictures have a place"),
      use.passes <= 1 && tier == CacheTier::kRam ? "; every row is read once, so it will not pay"
                                                 : "");
  return decision;
}

CacheDecision decide_cache(const TrainOptions& options, const SplitUse& use) {
  const CacheTier tier = asked_tier(options, use);
  const bool asks = tier != CacheTier::kOff && !options.decoded_cache_limit;
  return decide_cache(options, use, asks ? default_cache_limit(tier, cache_folder(options)) : 0);
}

}  // namespace cantilever
