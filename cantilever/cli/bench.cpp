#include <cstdlib>

#include "cantilever/base/error.h"
#include "cantilever/cli/bench_loader.h"
#include "cantilever/cli/flag_tables.h"
#include "cantilever/cli/output.h"
#include "cantilever/cli/run_commands.h"

namespace cantilever {
namespace {

using enum FlagType;

FlagGroup bench_flags() {
  return {
      "Bench",
      {
          own("benchmark", kStrings, "[]",
              "What to measure: loader. The word after `bench` without a flag is it.")
              .accumulating(),
          own("threads", kString, "\"0,1,auto\"",
              "Loader threads to compare, such as 0,1,2,auto; 0: the thread that takes the batches "
              "makes them."),
          own("image_size", kInt, "288", "Side of the pictures.").at_least(1).at_most(8192),
          own("batch", kInt, "32", "Pairs in a batch.").at_least(1).at_most(65536),
          own("images", kInt, "null",
              "Pictures in a round. Default: those of the split, up to 1024.")
              .at_least(1)
              .at_most(kLargestCount),
          own("rounds", kInt, "5", "Rounds; each runs every configuration once.")
              .at_least(1)
              .at_most(1000),
          own("split", kString, "\"train\"", "Split of the data set."),
          own("json", kString, "null",
              "File to which a JSON line for each configuration is added; - is standard output."),
          own("model_name_or_path", kString, "null",
              "Model folder: captions are tokenised as well, mean and std are its own."),
          own("tokenizer_name", kString, "null", "Folder of the tokenizer, if not the model's."),
          on_bad_sample_flag(),
          own("mediapipe_dataloader", kBool, "false",
              "Decode through the interface of a media device."),
          own("seed", kInt, "42", "Of the 60/20/20 cut of a set without splits.").at_least(0),
      }};
}

const FlagTable& flags() {
  static const FlagTable table = [] {
    FlagGroup common = common_flags();
    std::erase_if(common.flags, [](const Flag& flag) { return flag.name == "threads"; });
    return FlagTable({bench_flags(), data_flags(), pixel_flags(), cache_flags(), common},
                     "benchmark");
  }();
  return table;
}

void list() {
  print(
      "loader       pictures and captions of a set into batches: pictures a second, CPU time, "
      "stages\n"
      "step         comes with a later version\n"
      "distributed  comes with a later version\n"
      "published    comes with a later version\n");
}

int run(const FlagValues& values) {
  const auto words = values.words("benchmark");
  if (words.empty()) {
    list();
    return 0;
  }
  if (words.size() > 1) throw UsageError(concat("one benchmark at a time, not ", words.size()));
  const std::string& name = words.front();
  if (name == "loader") return bench_loader(values);
  if (name == "step" || name == "distributed" || name == "published") {
    throw UsageError(concat("`cantilever bench ", name, "` comes with a later version",
                            name == "step" ? "; bench/race_step.py races the training step" : ""));
  }
  const std::string nearest = nearest_name(name, {"loader", "step", "distributed", "published"});
  throw UsageError(concat("there is no benchmark ", quoted(name),
                          nearest.empty() ? "" : concat("; did you mean ", quoted(nearest), "?"),
                          " (`cantilever bench` lists them)"));
}

}  // namespace

Command bench_command() {
  return {"bench",
          "Measure, in interleaved rounds: `bench loader` times the input pipeline on a data set. "
          "Without a word: the list.",
          "[loader] --dataset_name SET [--threads 0,1,2,auto] [--json FILE]", &flags, &run};
}

}  // namespace cantilever
