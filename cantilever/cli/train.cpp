#include <cstdlib>

#include "cantilever/base/log.h"
#include "cantilever/cli/cpus.h"
#include "cantilever/cli/flag_tables.h"
#include "cantilever/cli/run_commands.h"
#include "cantilever/cli/to_options.h"
#include "cantilever/train/run.h"

namespace cantilever {
namespace {

// Started by a launcher every process would train alone and write over the others' files.
void refuse_launchers() {
  for (const char* name :
       {"WORLD_SIZE", "OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "SLURM_STEP_NUM_TASKS"}) {
    const char* size = std::getenv(name);
    if (size != nullptr && std::atoi(size) > 1) {
      throw UsageError(
          concat(name, "=", size,
                 " in the environment: this was started as one of several processes "
                 "(torchrun, mpirun, srun), which this version cannot do; start it by itself"));
    }
  }
}

int run(const FlagValues& values) {
  const TrainOptions options = to_train_options(values);
  refuse_launchers();
  for (const std::string& note : values.notes()) {
    // The loud line: who asks for a Gaudi must see that there is none.
    if (note.starts_with("--use_habana ") && values.flag("use_habana")) {
      log_warning(note);
    } else {
      log_info(note);
    }
  }
  use_threads(values);
  return run_train(options);
}

}  // namespace

Command train_command() {
  return {"train",
          "Train, evaluate and predict: what run_bridgetower.py does (--do_train --do_eval "
          "--do_predict, any of them).",
          "[FLAGS.json|FLAGS.yaml] --flag value ...", &train_flag_table, &run};
}

}  // namespace cantilever
