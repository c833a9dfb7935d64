#include "cantilever/train/loader_report.h"

#include <algorithm>
#include <cmath>

#include "cantilever/base/error.h"
#include "cantilever/train/meters.h"

namespace cantilever {
namespace {

// Below this share nobody gains by a faster loader.
constexpr double kWaitThatMatters = 0.05;

double stage_seconds(const LoaderStatistics& all) {
  return all.read_seconds + all.decode_seconds + all.transform_seconds + all.tokenize_seconds +
         all.device_seconds;
}

double seconds_of(const LoaderStatistics& all, const std::string& stage) {
  if (stage == "read") return all.read_seconds;
  if (stage == "decode") return all.decode_seconds;
  if (stage == "transform") return all.transform_seconds;
  return stage == "tokenize" ? all.tokenize_seconds : all.device_seconds;
}

std::string percent(double share) {
  return concat(std::lround(100 * std::clamp(share, 0.0, 1.0)), " %");
}

std::string what_to_turn(const std::string& stage, const LoaderSetting& setting) {
  std::string advice;
  const auto add = [&advice](const std::string& more) {
    advice += concat(advice.empty() ? "; try " : " or ", more);
  };
  if (setting.workers != kAutoWorkers) add("--dataloader_num_workers auto");
  const bool pictures = stage != "tokenize";
  if (setting.may_cache && !setting.cached && pictures) {
    add("--decoded_cache ram (disk, where memory is short)");
  }
  if (stage == "read") add("a faster disk");
  if (advice.empty())
    advice = "; nothing is left to turn: more CPUs, or smaller pictures, would help";
  return advice;
}

}  // namespace

LoaderStatistics difference(const LoaderStatistics& now, const LoaderStatistics& before) {
  LoaderStatistics out = now;
  out.images -= before.images;
  out.batches -= before.batches;
  out.seconds -= before.seconds;
  out.wait_seconds -= before.wait_seconds;
  out.read_seconds -= before.read_seconds;
  out.decode_seconds -= before.decode_seconds;
  out.transform_seconds -= before.transform_seconds;
  out.tokenize_seconds -= before.tokenize_seconds;
  out.device_seconds -= before.device_seconds;
  out.cache_hits -= before.cache_hits;
  out.caption_hits -= before.caption_hits;
  out.bad_rows -= before.bad_rows;
  out.device_images -= before.device_images;
  out.device_unsupported -= before.device_unsupported;
  out.device_failed -= before.device_failed;
  return out;
}

double loader_images_per_second(const LoaderStatistics& window) {
  const double seconds = stage_seconds(window);
  if (seconds <= 0 || window.images <= 0) return 0;
  return static_cast<double>(window.images) * std::max(1, window.threads) / seconds;
}

void add_loader_values(const LoaderStatistics& window, Json& extra) {
  if (window.images <= 0) return;
  extra["loader_images_per_second"] = round_decimals(loader_images_per_second(window), 1);
  for (const char* stage : {"read", "decode", "transform", "tokenize"}) {
    extra[concat("loader_", stage, "_seconds")] = round_decimals(seconds_of(window, stage), 4);
  }
  if (window.threads > 0) extra["loader_threads"] = window.threads;
  if (window.cache_hits > 0) extra["loader_cache_hits"] = window.cache_hits;
  if (window.device_images + window.device_unsupported + window.device_failed > 0) {
    extra["loader_device_seconds"] = round_decimals(window.device_seconds, 4);
    extra["loader_device_images"] = window.device_images;
    extra["loader_device_unsupported"] = window.device_unsupported;
    extra["loader_device_failed"] = window.device_failed;
  }
}

std::string loader_verdict(const LoaderStatistics& all, double step_seconds,
                           const LoaderSetting& setting) {
  const double work = stage_seconds(all);
  const double share = step_seconds > 0 ? all.wait_seconds / step_seconds : 0;
  const std::string stage = all.slowest_stage();
  const std::string mostly =
      work > 0 ? concat(stage, " (", percent(seconds_of(all, stage) / work), " of its work)") : "";
  std::string device;
  if (setting.device) {
    device = concat("; the media device's stand-in decoded ", all.device_images, " pictures, ",
                    all.device_unsupported, " are of a kind it does not take, ", all.device_failed,
                    " it gave back to the host");
  }
  if (share < kWaitThatMatters) {
    return concat("loading was not the limit: ", percent(share),
                  " of the training time was spent waiting for data",
                  mostly.empty() ? "" : concat("; the loader did mostly ", mostly), device);
  }
  return concat(
      "loading was the limit: ", percent(share), " of the training time was spent waiting for data",
      mostly.empty() ? "" : concat(", mostly ", mostly), what_to_turn(stage, setting), device);
}

}  // namespace cantilever
