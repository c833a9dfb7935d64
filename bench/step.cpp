// Times Cantilever's training step on synthetic tensors: forward, backward, clip, AdamW, zeroing.
// Prints one JSON line with the fields of tools/reference/race.py, so that the two can be paired.
//
//   bench_step --size base --batch 4 --text-length 128 --caption-tokens 128 --threads 2

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <sys/resource.h>
#include <torch/csrc/autograd/autograd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <map>
#include <string>
#include <vector>

#include "cantilever/base/error.h"
#include "cantilever/io/json.h"
#include "cantilever/model/contrastive.h"
#include "cantilever/optim/adamw.h"
#include "cantilever/optim/clip.h"
#include "cantilever/optim/flat_parameters.h"
#include "cantilever/optim/parameter_groups.h"

namespace cantilever {
namespace {

struct Options {
  std::string size = "base";
  int64_t batch = 4;
  int64_t text_length = 128;
  int64_t caption_tokens = 32;
  int64_t vocab_size = 50265;
  double dropout = 0.1;
  int64_t steps = 5;
  int64_t warmup = 3;
  int64_t threads = 0;
};

Options parse(int argc, char** argv) {
  Options options;
  const std::map<std::string, int64_t*> numbers = {{"--batch", &options.batch},
                                                   {"--text-length", &options.text_length},
                                                   {"--caption-tokens", &options.caption_tokens},
                                                   {"--vocab-size", &options.vocab_size},
                                                   {"--steps", &options.steps},
                                                   {"--warmup", &options.warmup},
                                                   {"--threads", &options.threads}};
  for (int i = 1; i + 1 < argc; i += 2) {
    const std::string flag = argv[i];
    if (flag == "--size") {
      options.size = argv[i + 1];
    } else if (flag == "--dropout") {
      options.dropout = std::stod(argv[i + 1]);
    } else if (const auto found = numbers.find(flag); found != numbers.end()) {
      *found->second = std::stoll(argv[i + 1]);
    } else {
      throw UsageError(concat("unknown flag ", flag));
    }
  }
  return options;
}

struct Inputs {
  at::Tensor pixel_values;    // [B, 3, S, S]
  at::Tensor input_ids;       // [B, L]
  at::Tensor attention_mask;  // [B, L]
};

Inputs make_inputs(const Options& options, int64_t side) {
  at::manual_seed(0);
  const int64_t tokens = std::min(options.caption_tokens, options.text_length);
  at::Tensor ids = at::full({options.batch, options.text_length}, 1, at::kLong);
  ids.slice(1, 0, tokens)
      .copy_(at::randint(4, options.vocab_size - 1, {options.batch, tokens}, at::kLong));
  ids.select(1, 0).fill_(0);
  ids.select(1, tokens - 1).fill_(2);
  return {at::randn({options.batch, 3, side, side}), ids, ids.ne(1).to(at::kLong)};
}

int64_t peak_rss() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return usage.ru_maxrss * 1024;
}

constexpr std::array<const char*, 5> kPhases = {"forward", "backward", "clip", "optimizer",
                                                "zero_grad"};
using PhaseSeconds = std::array<double, kPhases.size()>;

PhaseSeconds run_step(BridgeTowerForContrastiveLearning& model, FlatParameters& parameters,
                      AdamW& optimizer, const Inputs& inputs, uint64_t key, double& loss_value) {
  using Clock = std::chrono::steady_clock;
  std::array<Clock::time_point, kPhases.size() + 1> marks;
  marks[0] = Clock::now();
  ForwardContext context{.training = true, .dropout_key = key};
  const at::Tensor loss =
      model.forward(inputs.pixel_values, inputs.input_ids, inputs.attention_mask, context).loss;
  marks[1] = Clock::now();
  loss.backward();
  marks[2] = Clock::now();
  clip_gradient_norm(parameters, 1.0);
  marks[3] = Clock::now();
  optimizer.step(1e-5);
  marks[4] = Clock::now();
  parameters.zero_gradients();
  marks[5] = Clock::now();
  loss_value = loss.item<double>();
  PhaseSeconds seconds{};
  for (size_t i = 0; i < kPhases.size(); ++i) {
    seconds[i] = std::chrono::duration<double>(marks[i + 1] - marks[i]).count();
  }
  return seconds;
}

double total(const PhaseSeconds& phases) {
  double sum = 0;
  for (const double phase : phases) sum += phase;
  return sum;
}

Json report(const Options& options, std::vector<PhaseSeconds> measured, double loss) {
  std::sort(measured.begin(), measured.end(),
            [](const auto& a, const auto& b) { return total(a) < total(b); });
  const size_t middle = measured.size() / 2;
  const double median = measured.size() % 2 == 1
                            ? total(measured[middle])
                            : (total(measured[middle - 1]) + total(measured[middle])) / 2;
  Json split = Json::object();
  for (size_t i = 0; i < kPhases.size(); ++i) split[kPhases[i]] = measured.front()[i];
  return {{"size", options.size},
          {"batch", options.batch},
          {"text_length", options.text_length},
          {"caption_tokens", options.caption_tokens},
          {"dropout", options.dropout},
          {"threads", at::get_num_threads()},
          {"steps", options.steps},
          {"warmup", options.warmup},
          {"step_seconds_min", total(measured.front())},
          {"step_seconds_median", median},
          {"samples_per_second_best", static_cast<double>(options.batch) / total(measured.front())},
          {"split_of_fastest_step", split},
          {"loss", loss},
          {"peak_rss_bytes", peak_rss()}};
}

void run(const Options& options) {
  CANTILEVER_CHECK(options.steps > 0, "--steps is ", options.steps, "; give at least 1");
  if (options.threads > 0) at::set_num_threads(static_cast<int>(options.threads));
  BridgeTowerConfig config = BridgeTowerConfig::of_size(options.size, options.vocab_size);
  config.text_config.hidden_dropout_prob = options.dropout;
  config.text_config.attention_probs_dropout_prob = options.dropout;
  BridgeTowerForContrastiveLearning model(config, {});
  model.initialize(0);
  FlatParameters parameters(model.parameters_in_backward_order(), is_decayed);
  AdamW optimizer(parameters, {});
  const Inputs inputs = make_inputs(options, config.vision_config.image_size);
  std::vector<PhaseSeconds> measured;
  double loss = 0;
  for (int64_t step = 0; step < options.warmup + options.steps; ++step) {
    const PhaseSeconds seconds =
        run_step(model, parameters, optimizer, inputs, static_cast<uint64_t>(step), loss);
    if (step >= options.warmup) measured.push_back(seconds);
  }
  std::printf("%s\n", dump_json(report(options, measured, loss), -1).c_str());
}

}  // namespace
}  // namespace cantilever

int main(int argc, char** argv) {
  try {
    cantilever::run(cantilever::parse(argc, argv));
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "bench_step: error: %s\n", error.what());
    return 1;
  }
}
