#include <charconv>
#include <cstdlib>

#include "cantilever/base/error.h"
#include "cantilever/cli/bench_loader.h"
#include "cantilever/cli/output.h"
#include "cantilever/cli/to_options.h"
#include "cantilever/data/loader/loader_race.h"

namespace cantilever {
namespace {

std::string environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

// A count from the environment; `fallback` when it is not there.
int64_t number(const char* name, int64_t fallback) {
  const std::string text = environment(name);
  if (text.empty()) return fallback;
  int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value < 1 || value > 1 << 30) {
    throw UsageError(concat(name, "=", text, " in the environment is not a count"));
  }
  return value;
}

std::vector<std::vector<std::byte>> pictures(const FlagValues& values) {
  const std::string list = environment("RACE_LIST");
  if (!list.empty()) return read_picture_list(list);
  SourceOptions options = to_source_options(values);
  if (!values.given("image_column")) options.image_column = "image";
  return read_pictures(*open_source(environment("RACE_PARQUET"), options));
}

}  // namespace

bool is_contestant() {
  return !environment("RACE_LIST").empty() || !environment("RACE_PARQUET").empty();
}

int race_as_contestant(const FlagValues& values) {
  RaceOptions options;
  options.transform.side = static_cast<int>(number("RACE_SIZE", values.get<int64_t>("image_size")));
  // Pictures are handed over as bytes.
  options.transform.semantics =
      resolve(parse_pixel_semantics(values.text("pixel_semantics")), /*image_given_as_path=*/false);
  options.batch_size = number("RACE_BATCH", values.get<int64_t>("batch"));
  options.threads = static_cast<int>(number("RACE_THREADS", 1));
  if (values.given("threads")) {
    const std::vector<int> asked = parse_thread_list(values.text("threads"));
    if (asked.size() != 1 || asked[0] < 1) {
      throw UsageError("--threads: a contestant of a race runs with one number of threads");
    }
    options.threads = asked[0];
  }
  const auto encoded = pictures(values);
  options.images = number("RACE_IMAGES", static_cast<int64_t>(encoded.size()));
  const std::string pixels = environment("RACE_PIXELS");
  if (!pixels.empty()) dump_pixels(encoded, options, pixels);
  const RaceResult result = race_loader(encoded, options);
  const LoaderStatistics& work = result.statistics;
  Json line = Json::object();
  line["images"] = result.images;
  line["seconds"] = result.seconds;
  line["cpu_seconds"] = result.cpu_seconds;
  line["about"] =
      concat("cantilever bench loader: ", pixel_semantics_name(options.transform.semantics), ", ",
             options.threads, options.threads == 1 ? " thread" : " threads");
  line["work"] = "same";
  line["stage_seconds"] = {{"read", work.read_seconds},
                           {"decode", work.decode_seconds},
                           {"transform", work.transform_seconds}};
  print(dump_json(line, -1) + "\n");
  return 0;
}

}  // namespace cantilever
