#include "cantilever/train/run.h"

#include <ATen/Parallel.h>

#include <cmath>
#include <cstdio>

#include "cantilever/base/error.h"
#include "cantilever/base/file.h"
#include "cantilever/base/log.h"
#include "cantilever/train/checkpoint.h"
#include "cantilever/train/checkpoint_folders.h"
#include "cantilever/train/dump.h"
#include "cantilever/train/evaluator.h"
#include "cantilever/train/meters.h"
#include "cantilever/train/model_card.h"
#include "cantilever/train/results.h"
#include "cantilever/train/trainer.h"

namespace cantilever {
namespace {

namespace fs = std::filesystem;

bool wants_tensorboard(const TrainOptions& options) {
  for (const std::string& name : options.report_to) {
    if (name == "tensorboard" || name == "all") return true;
    CANTILEVER_CHECK(name == "none", "--report_to is ", quoted(name),
                     "; it can be tensorboard or none");
  }
  return false;
}

// One run: opened, then train, evaluate, predict as asked for.
class Run {
 public:
  explicit Run(const TrainOptions& options)
      : options_(options),
        output_dir_(options.output_dir),
        tensorboard_(wants_tensorboard(options)),
        checkpoint_(find_checkpoint(options)),
        bench_(open_workbench(options, checkpoint_)) {
    make_folders(output_dir_);
    // A folder that cannot be written is better known before the training than after it.
    AtomicFile(output_dir_ / "write-test").write("x");
    sinks_.add(make_console_sink(!options.disable_tqdm));
  }

  int run() {
    if (options_.do_train) {
      const int signal = train();
      if (signal != 0) return 128 + signal;
    }
    if (options_.do_eval) evaluate();
    if (options_.do_predict) predict();
    write_file_atomically(output_dir_ / "README.md",
                          make_model_card(options_, history_, last_evaluation_));
    CANTILEVER_CHECK(not_finite_.empty(), not_finite_.front(), "; the files in ",
                     output_dir_.string(), " are written, but this model is of no use");
    return 0;
  }

 private:
  int train() {
    if (tensorboard_) {
      const fs::path folder = options_.logging_dir.empty() ? default_logging_dir(output_dir_)
                                                           : fs::path(options_.logging_dir);
      sinks_.add(make_tensorboard_sink(folder));
      sinks_.text("args", dump_json(options_.as_json, 2));
      sinks_.text("model_config", dump_json(bench_.model->config().to_json(), 2));
    }
    Trainer trainer(options_, bench_, sinks_, checkpoint_);
    std::unique_ptr<StepObserver> step_dump;
    SampleOrderDump order;
    if (!options_.dump_step_tensors.empty()) {
      step_dump = make_step_dump(options_.dump_step_tensors);
      trainer.observe(step_dump.get());
    }
    if (options_.dump_sample_order) trainer.observe(&order);
    const TrainingResult result = trainer.run();
    if (options_.dump_sample_order) order.save(output_dir_);
    if (result.stop_signal != 0) return result.stop_signal;
    save_model();
    trainer.state().save(output_dir_ / "trainer_state.json");
    report("train", result.metrics);
    history_ = trainer.state().log_history;
    epoch_ = trainer.state().epoch;
    step_ = trainer.state().global_step;
    return 0;
  }

  void save_model() const {
    save_trained_model(*bench_.model, output_dir_);
    bench_.tokenizer->save(output_dir_, options_.max_seq_length);
    bench_.preprocessor.save(output_dir_);
    write_json(output_dir_ / "training_args.json", options_.as_json, 2, true);
  }

  EvaluationResult measure(const std::string& split, const std::string& prefix) {
    EvaluationOptions evaluation;
    evaluation.prefix = prefix;
    evaluation.logging_nan_inf_filter = options_.logging_nan_inf_filter;
    // The Trainer shows how long it took to make the model ready when nothing was trained before.
    if (!options_.do_train) evaluation.preparation_seconds = preparation_seconds_;
    evaluation.progress = [&](int64_t done, int64_t total) {
      if (done == 1) sinks_.begin_work(split, total);
      sinks_.advance_work(done);
    };
    auto result = evaluate_split(options_, bench_, split, evaluation);
    sinks_.end_work();
    for (const BadSample& sample : result->bad_samples) {
      log_warning(concat("replaced in the ", split, " split: ", sample.reason));
    }
    const double loss = result->metrics[prefix + "_loss"].get<double>();
    if (!std::isfinite(loss)) not_finite_.push_back(concat(split, " loss is ", loss));
    return *result;
  }

  void evaluate() {
    Json metrics = measure("validation", "eval").metrics;
    if (options_.do_train) {
      metrics["epoch"] = epoch_;
    } else {
      metrics["epoch"] = 0;
    }
    sinks_.log({step_, metrics, Json::object()});
    report("validation", metrics);
    last_evaluation_ = metrics;
  }

  void predict() { report("test", measure("test", "test").metrics); }

  void report(const std::string& split, const Json& metrics) const {
    std::fputs(format_metrics(split, metrics).c_str(), stdout);
    std::fflush(stdout);
    save_metrics(output_dir_, split, metrics);
  }

  const TrainOptions& options_;
  fs::path output_dir_;
  bool tensorboard_;
  fs::path checkpoint_;
  StopWatch preparation_;  // from here to the end of bench_
  Workbench bench_;
  double preparation_seconds_ = preparation_.seconds();
  Sinks sinks_;
  Json history_ = Json::array();
  Json last_evaluation_;
  double epoch_ = 0;
  int64_t step_ = 0;
  std::vector<std::string> not_finite_;
};

}  // namespace

int run_train(const TrainOptions& options) {
  if (options.threads > 0) at::set_num_threads(options.threads);
  return Run(options).run();
}

}  // namespace cantilever
