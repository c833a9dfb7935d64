// One contestant of the race of image input pipelines: told by RACE_... variables what to do, it
// decodes a list of pictures into batches, times itself and prints one JSON line. `cantilever bench
// loader` does the same and more; this program needs no torch.

#include <cstdio>
#include <cstdlib>
#include <exception>
#include <string>

#include "cantilever/base/error.h"
#include "cantilever/data/loader/loader_race.h"

namespace cantilever {
namespace {

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

int64_t number(const char* name, int64_t fallback) {
  const std::string text = variable(name);
  if (text.empty()) return fallback;
  char* end = nullptr;
  const int64_t value = std::strtoll(text.c_str(), &end, 10);
  CANTILEVER_CHECK(*end == '\0' && value >= 0 && value <= 1 << 20, name, " is ", quoted(text),
                   ", not a number of 0 to 1048576");
  return value;
}

int run() {
  const std::string list = variable("RACE_LIST");
  CANTILEVER_CHECK(!list.empty(),
                   "RACE_LIST is not set: a file with the path of a picture in "
                   "each line");
  const auto encoded = read_picture_list(list);
  RaceOptions options;
  options.transform.side = static_cast<int>(number("RACE_SIZE", options.transform.side));
  options.batch_size = number("RACE_BATCH", options.batch_size);
  options.threads = static_cast<int>(number("RACE_THREADS", 1));
  options.images = number("RACE_IMAGES", 0);
  if (const std::string type = variable("RACE_CACHE"); !type.empty()) {
    // Beyond the protocol: a second epoch out of memory.
    options.cache = {
        CacheTier::kRam, parse_pixel_type(type), default_cache_limit(CacheTier::kRam, {}), {}};
  }
  if (const std::string pixels = variable("RACE_PIXELS"); !pixels.empty()) {
    dump_pixels(encoded, options, pixels);
  }
  const RaceResult result = race_loader(encoded, options);
  std::printf(
      "{\"images\": %lld, \"seconds\": %.6f, \"cpu_seconds\": %.6f, \"about\": \"Cantilever: %s, "
      "%s\", \"work\": \"%s\"}\n",
      static_cast<long long>(result.images), result.seconds, result.cpu_seconds,
      options.cache.tier != CacheTier::kOff ? "second epoch from the cache"
      : options.threads == 1                ? "in the calling thread"
                                            : "loader threads",
      pixel_semantics_name(options.transform.semantics),
      options.cache.tier == CacheTier::kOff ? "same" : "other");
  return 0;
}

}  // namespace
}  // namespace cantilever

int main() {
  try {
    return cantilever::run();
  } catch (const std::exception& error) {
    std::fprintf(stderr, "bench_loader: %s\n", error.what());
    return 1;
  }
}
