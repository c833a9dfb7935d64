#include "cantilever/train/trainer.h"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "cantilever/base/error.h"
#include "cantilever/base/file.h"
#include "cantilever/base/log.h"
#include "cantilever/base/stop_signal.h"
#include "cantilever/optim/parameter_groups.h"
#include "cantilever/train/announce.h"
#include "cantilever/train/checkpoint_folders.h"
#include "cantilever/train/checkpoint_keeper.h"
#include "cantilever/train/evaluator.h"
#include "cantilever/train/learning_rate.h"
#include "cantilever/train/loader_report.h"
#include "cantilever/train/meters.h"
#include "cantilever/train/pace.h"
#include "cantilever/train/picture_cache.h"

namespace cantilever {
namespace {

namespace fs = std::filesystem;

// Parameters that the loss reaches. The text pooler is not among them: the Trainer's optimiser
// passes over a parameter without a gradient, so that weight decay leaves it alone as well.
NamedParameters trained_parameters(const BridgeTowerForContrastiveLearning& model) {
  NamedParameters parameters;
  for (auto& [name, tensor] : model.parameters_in_backward_order()) {
    if (name.starts_with("bridgetower.text_model.pooler.")) continue;
    parameters.emplace_back(name, tensor);
  }
  CANTILEVER_CHECK(!parameters.empty(), "every parameter is frozen; there is nothing to train");
  return parameters;
}

AdamWOptions adamw_options(const TrainOptions& options) {
  AdamWOptions adamw;
  adamw.beta1 = options.adam_beta1;
  adamw.beta2 = options.adam_beta2;
  adamw.epsilon = options.adam_epsilon;
  adamw.weight_decay = options.weight_decay;
  return adamw;
}

StepOptions step_options(const TrainOptions& options) {
  StepOptions step;
  step.max_grad_norm = options.max_grad_norm;
  step.seed = options.seed;
  step.apply_non_finite = options.logging_nan_inf_filter;
  return step;
}

SplitUse train_use(const TrainingPlan& plan, const Workbench& bench) {
  SplitUse use;
  use.name = "train";
  use.rows = plan.rows;
  use.side = static_cast<int>(bench.model->config().vision_config.image_size);
  use.training = true;
  use.passes = static_cast<double>(plan.max_steps) /
               static_cast<double>(std::max<int64_t>(1, plan.updates_per_epoch));
  return use;
}

LoaderOptions train_loader_options(const TrainOptions& options, const Workbench& bench,
                                   const CacheDecision& cache) {
  LoaderOptions loader = loader_options(options, bench, true);
  loader.cache = cache.options;
  return loader;
}

// A minimum or maximum over a NaN is a NaN.
bool all_finite(const at::Tensor& values) {
  const auto [low, high] = at::aminmax(values);
  return std::isfinite(low.item<float>()) && std::isfinite(high.item<float>());
}

}  // namespace

struct Trainer::Impl {
  Impl(const TrainOptions& run_options, const Workbench& run_bench, Sinks& run_sinks)
      : options(run_options),
        bench(run_bench),
        sinks(run_sinks),
        plan(make_plan(options, bench.split("train")->size())),
        schedule(make_schedule(options, plan.max_steps)),
        parameters(trained_parameters(*bench.model), is_decayed),
        optimizer(parameters, adamw_options(options)),
        step(*bench.model, parameters, optimizer, step_options(options)),
        cache(decide_cache(options, train_use(plan, bench))),
        loader(bench.split("train"), bench.tokenizer, train_loader_options(options, bench, cache)),
        resume(ResumeState::of_run(options, plan.rows, cache.pixel_type)),
        checkpoints(options),
        pace(options.throughput_warmup_steps, options.adjust_throughput) {
    state.take_plan(plan);
  }

  void continue_from(const fs::path& checkpoint);
  TrainingResult run();
  void run_epoch();
  void run_step(int64_t update);
  void after_step(const Flow& flow, bool epoch_end);
  void log_step();
  void evaluate();
  void save(bool epoch_end_due);
  void make_up();
  bool stop_on_signal();
  void check_finite();
  void report_bad_samples();
  void report_loading() const;
  [[noreturn]] void stop_diverged();
  std::string tail() const;
  Json final_metrics() const;

  const TrainOptions& options;
  const Workbench& bench;
  Sinks& sinks;
  TrainingPlan plan;
  Schedule schedule;
  FlatParameters parameters;
  AdamW optimizer;
  TrainStep step;
  CacheDecision cache;
  BatchLoader loader;

  TrainerState state;
  ResumeState resume;  // settings, and what was restored
  LossMeter loss;
  StepReport last;         // of the last step
  int64_t first_step = 0;  // steps done before this call
  int64_t epoch = 0;       // position of the next step
  int64_t next_update = 0;
  bool epoch_end_due = false;
  bool evaluation_due = false;
  CheckpointKeeper checkpoints;
  size_t reported_bad = 0;
  bool stopped = false;  // max_steps reached or a signal
  Pace pace;
};

void Trainer::Impl::continue_from(const fs::path& checkpoint) {
  const ResumeState now = resume;
  resume = read_resume_state(checkpoint);
  for (const std::string& line : resume.differences(now)) {
    log_warning(concat("the continuation of ", checkpoint.string(), " is not exact: ", line));
  }
  const TrainerState then = TrainerState::load(checkpoint / "trainer_state.json");
  CANTILEVER_CHECK(then.global_step == resume.global_step, checkpoint.string(),
                   ": trainer_state.json is of step ", then.global_step,
                   ", cantilever_state.json of step ", resume.global_step);
  state = then;
  state.take_plan(plan);
  optimizer.set_steps_done(read_moments(checkpoint, parameters));
  loss.start(resume.running_loss, resume.running_steps);
  last.gradient_norm = resume.gradient_norm;
  last.learning_rate = resume.learning_rate;
  first_step = state.global_step;
  epoch = first_step / plan.updates_per_epoch;
  next_update = first_step % plan.updates_per_epoch;
  evaluation_due = resume.evaluation_due;
  checkpoints.continued_from(checkpoint);
  epoch_end_due = resume.epoch_end_due && next_update == 0 && epoch > 0;
  const auto bad = std::move(resume.bad_samples);
  resume = [&] {
    ResumeState current = now;
    current.bad_samples = bad;
    current.total_loss = resume.total_loss;
    return current;
  }();
  log_info(concat("continuing from ", checkpoint.string(), " at step ", first_step, " of ",
                  plan.max_steps, ", epoch ", epoch, ", batch ",
                  plan.first_micro_batch(next_update)));
}

TrainingResult Trainer::Impl::run() {
  const StopSignal signals;
  make_folders(options.output_dir);
  remove_leftovers(options.output_dir);
  checkpoints.find_foreign(first_step);
  int64_t trained = 0;
  for (const ParameterSlot& slot : parameters.slots()) trained += slot.numel;
  announce_training(options, plan, cache, first_step, trained);
  TrainingResult result;
  pace.start();
  sinks.begin_work("train", plan.max_steps, first_step);
  if (first_step > 0 && first_step >= plan.max_steps) {
    log_info(concat("all ", plan.max_steps, " steps are done already"));
    stopped = true;
  } else {
    loader.seek(epoch, plan.first_micro_batch(next_update));
  }
  make_up();
  while (!stopped && epoch < plan.num_train_epochs) run_epoch();
  if (stop_on_signal()) result.stop_signal = StopSignal::received();
  sinks.end_work();
  if (result.stop_signal != 0) {
    log_warning(concat("stopped by signal ", result.stop_signal, " after step ", state.global_step,
                       "; continue with --resume_from_checkpoint ", checkpoints.last().string()));
    return result;
  }
  if (state.global_step > first_step) report_loading();
  if (state.global_step > first_step) check_finite();
  result.metrics = final_metrics();
  LogEntry entry{state.global_step, result.metrics, Json::object()};
  state.log(result.metrics);
  result.metrics["epoch"] = state.epoch;
  entry.values["epoch"] = state.epoch;
  sinks.log(entry);
  return result;
}

void Trainer::Impl::run_epoch() {
  while (next_update < plan.updates_per_epoch && !stopped) {
    run_step(next_update);
    const bool epoch_done = next_update + 1 == plan.updates_per_epoch;
    epoch_end_due = epoch_done;
    if (epoch_done) {
      ++epoch;
      next_update = 0;
    } else {
      ++next_update;
    }
    const Flow flow = flow_after_step(options, plan, state.global_step);
    after_step(flow, false);
    if (flow.stop) stopped = true;
    if (stop_on_signal()) return;
    if (epoch_done) break;
  }
  after_step(flow_after_epoch(options, state.epoch), true);
  epoch_end_due = false;
  stop_on_signal();
}

// What a signal cut off at the step of the checkpoint that this call continues from.
void Trainer::Impl::make_up() {
  if (evaluation_due) {
    Flow due;
    due.evaluate = true;
    after_step(due, false);
  }
  if (epoch_end_due && StopSignal::received() == 0) {
    after_step(flow_after_epoch(options, state.epoch), true);
    epoch_end_due = false;
  }
  stop_on_signal();
}

// Saves what a continuation needs, what is still due included.
bool Trainer::Impl::stop_on_signal() {
  if (StopSignal::received() == 0) return false;
  if (checkpoints.saved_step() != state.global_step) save(epoch_end_due);
  stopped = true;
  return true;
}

void Trainer::Impl::run_step(int64_t update) {
  pace.before_step(state.global_step - first_step);
  const StopWatch watch;
  const double rate = schedule.learning_rate(state.global_step);
  last = step.run(state.global_step + 1, plan.micro_batches(update), rate,
                  [this]() -> const Batch& { return loader.next(); });
  for (const float micro_batch : last.losses) {
    loss.add(micro_batch, options.logging_nan_inf_filter);
  }
  loss.step_done();
  resume.total_loss += last.loss();
  pace.after_step(last.samples, watch.seconds());
  state.total_flos += 6.0 * static_cast<double>(last.input_ids) *
                      static_cast<double>(bench.model->parameters_without_embeddings());
  ++state.global_step;
  state.epoch = plan.epoch_after(epoch, update);
  report_bad_samples();
  if (!last.applied) stop_diverged();
  sinks.advance_work(state.global_step, tail());
}

void Trainer::Impl::after_step(const Flow& flow, bool epoch_end) {
  const StopWatch watch;
  if (flow.log && !loss.window_empty()) log_step();
  if (flow.evaluate) evaluate();
  if (flow.save && StopSignal::received() == 0) {
    state.saved_flow = flow;
    state.saved_flow.log = false;
    state.saved_flow.evaluate = false;
    state.saved_flow.stop = flow.stop || stopped;
    save(epoch_end_due && !epoch_end);
  }
  pace.set_aside(watch.seconds());
}

void Trainer::Impl::log_step() {
  LogEntry entry;
  entry.step = state.global_step;
  entry.values["loss"] = loss.take_window();
  entry.values["grad_norm"] = last.gradient_norm;
  entry.values["learning_rate"] = last.learning_rate;
  state.log(entry.values);
  entry.values["epoch"] = state.epoch;
  entry.extra["logit_scale"] = static_cast<double>(bench.model->logit_scale.item<float>());
  pace.take_window(loader.statistics(), entry.extra);
  if (options.on_bad_sample == "skip") {
    entry.extra["skipped_rows"] = static_cast<int64_t>(resume.bad_samples.size());
  }
  sinks.log(entry);
}

void Trainer::Impl::evaluate() {
  EvaluationOptions evaluation;
  evaluation.logging_nan_inf_filter = options.logging_nan_inf_filter;
  evaluation.should_stop = [] { return StopSignal::received() != 0; };
  evaluation.progress = [this](int64_t done, int64_t total) {
    sinks.advance_work(state.global_step, concat("evaluating ", done, "/", total));
  };
  auto result = evaluate_split(options, bench, "validation", evaluation);
  evaluation_due = !result;  // cut off by a signal
  if (!result) return;
  LogEntry entry{state.global_step, result->metrics, Json::object()};
  state.log(result->metrics);
  entry.values["epoch"] = state.epoch;
  sinks.log(entry);
}

void Trainer::Impl::save(bool end_due) {
  check_finite();
  ResumeState position = resume;
  position.global_step = state.global_step;
  position.epoch = epoch;
  position.micro_batch = plan.first_micro_batch(next_update);
  position.epoch_end_due = end_due;
  position.evaluation_due = evaluation_due;
  position.running_loss = loss.window();
  position.running_steps = loss.window_steps();
  position.gradient_norm = last.gradient_norm;
  position.learning_rate = last.learning_rate;
  const CheckpointContent content{bench,   parameters, optimizer.steps_done(),
                                  options, state,      position};
  checkpoints.save(state.global_step, content);
}

void Trainer::Impl::report_bad_samples() {
  const auto& bad = loader.bad_samples();
  for (; reported_bad < bad.size(); ++reported_bad) {
    const BadSample& sample = bad[reported_bad];
    const bool known = std::any_of(resume.bad_samples.begin(), resume.bad_samples.end(),
                                   [&](const BadSample& other) { return other.row == sample.row; });
    if (known) continue;
    resume.bad_samples.push_back(sample);
    log_warning(concat("replaced in the train split: ", sample.reason));
  }
}

// An update can overflow although its loss and gradient norm were finite.
void Trainer::Impl::check_finite() {
  if (options.logging_nan_inf_filter) return;
  if (all_finite(parameters.values()) && all_finite(parameters.exp_avg()) &&
      all_finite(parameters.exp_avg_sq())) {
    return;
  }
  sinks.end_work();
  state.save(fs::path(options.output_dir) / "trainer_state.json");
  throw_error(concat(
      "step ", state.global_step,
      ": the weights or the optimiser's moments are not finite after this step's update; the run "
      "has diverged and stops. They are not written; ",
      checkpoints.describe_last(), ". Lower --learning_rate (it was ", last.learning_rate,
      "); --logging_nan_inf_filter True goes on as Transformers does"));
}

void Trainer::Impl::stop_diverged() {
  log_step();
  sinks.end_work();
  state.save(fs::path(options.output_dir) / "trainer_state.json");
  throw_error(concat(
      "step ", state.global_step, ": the loss is ", last.loss(), " and the gradient norm ",
      last.gradient_norm, "; the run has diverged and stops. This step was not applied; ",
      checkpoints.describe_last(), ". Lower --learning_rate (it was ", last.learning_rate,
      "), add warm-up or look at the rows of this batch; --logging_nan_inf_filter True goes on as "
      "Transformers does"));
}

void Trainer::Impl::report_loading() const {
  LoaderSetting setting;
  setting.workers = options.dataloader_num_workers;
  setting.cached = cache.options.tier != CacheTier::kOff;
  setting.may_cache = !options.augmentation.any() && !options.mediapipe_dataloader &&
                      train_use(plan, bench).passes > 1;
  setting.device = options.mediapipe_dataloader;
  log_info(loader_verdict(loader.statistics(), pace.step_seconds(), setting));
}

std::string Trainer::Impl::tail() const {
  char text[40];
  std::snprintf(text, sizeof text, "loss %.4g, ", last.loss());
  return text + pace.tail(loader.statistics());
}

Json Trainer::Impl::final_metrics() const {
  const auto steps = static_cast<double>(state.global_step - first_step);
  const double samples =
      plan.planned_samples * steps / static_cast<double>(std::max<int64_t>(plan.max_steps, 1));
  Json metrics =
      pace.final_metrics(steps, samples, static_cast<double>(plan.batch_size * plan.accumulation));
  metrics["total_flos"] = state.total_flos;
  metrics["train_loss"] = loss.call_total() / std::max(steps, 0.001);
  return metrics;
}

Trainer::Trainer(const TrainOptions& options, const Workbench& bench, Sinks& sinks,
                 const fs::path& checkpoint)
    : impl_(std::make_unique<Impl>(options, bench, sinks)) {
  if (!checkpoint.empty()) impl_->continue_from(checkpoint);
}

Trainer::~Trainer() = default;

void Trainer::observe(StepObserver* observer) {
  impl_->step.observe(observer);
}

TrainingResult Trainer::run() {
  return impl_->run();
}

const TrainerState& Trainer::state() const {
  return impl_->state;
}
const TrainingPlan& Trainer::plan() const {
  return impl_->plan;
}

}  // namespace cantilever
