#include "cantilever/cli/bench_loader.h"

#include <sys/resource.h>

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <ctime>
#include <fstream>
#include <memory>

#include "cantilever/base/cpus.h"
#include "cantilever/base/error.h"
#include "cantilever/base/log.h"
#include "cantilever/base/progress.h"
#include "cantilever/cli/flag_tables.h"
#include "cantilever/cli/output.h"
#include "cantilever/cli/to_options.h"
#include "cantilever/cli/version.h"
#include "cantilever/train/loader_report.h"
#include "cantilever/train/meters.h"
#include "cantilever/train/picture_cache.h"
#include "cantilever/train/workbench.h"

namespace cantilever {
namespace {

constexpr int64_t kDefaultImages = 1024;

double cpu_seconds() {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_usec);
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

std::string cpu_name() {
  std::ifstream lines("/proc/cpuinfo");
  for (std::string line; std::getline(lines, line);) {
    const size_t colon = line.find(": ");
    if (line.starts_with("model name") && colon != std::string::npos) return line.substr(colon + 2);
  }
  return "unknown";
}

std::string today() {
  const std::time_t now = std::time(nullptr);
  std::tm utc{};
  ::gmtime_r(&now, &utc);
  char text[32];
  std::strftime(text, sizeof text, "%Y-%m-%d", &utc);
  return text;
}

// The command with the flags that were given.
std::string command_line(const FlagValues& values) {
  std::string text = "cantilever bench loader";
  for (const FlagGroup& group : values.table().groups()) {
    for (const Flag& flag : group.flags) {
      if (!values.given(flag.name) || flag.name == "benchmark") continue;
      text += concat(" --", flag.name, " ", display_value(values.json(flag.name)));
    }
  }
  return text;
}

struct Round {
  double seconds = 0;
  double cpu_seconds = 0;
  int64_t images = 0;
  LoaderStatistics work;
};

// One thread count: a loader that sleeps between its rounds.
class Configuration {
 public:
  Configuration(int threads, std::shared_ptr<ExampleSource> source,
                std::shared_ptr<const Tokenizer> tokenizer, LoaderOptions options, int64_t images)
      : threads_(threads), images_(images) {
    options.num_workers = threads;
    options.prefetch = 2 * std::max(1, threads == kAutoWorkers ? allowed_cpus() : threads);
    // Each one fills a cache of its own; a file serves all.
    cached_ = options.cache.tier != CacheTier::kOff;
    loader_ = std::make_unique<BatchLoader>(std::move(source), std::move(tokenizer), options);
  }

  // Untimed: two batches; a whole pass where a cache or the choice of threads has to settle.
  void warm_up() {
    loader_->seek(0, 0);
    const bool settles = cached_ || threads_ == kAutoWorkers;
    if (settles) {
      deliver(images_);
    } else {
      loader_->next();
      loader_->next();
    }
    loader_->pause();
  }

  // From empty queues to the last batch delivered.
  void run_round() {
    const LoaderStatistics before = loader_->statistics();
    const double cpu = cpu_seconds();
    const StopWatch watch;
    loader_->seek(0, 0);
    Round round;
    round.images = deliver(images_);
    round.seconds = watch.seconds();
    round.cpu_seconds = cpu_seconds() - cpu;
    round.work = difference(loader_->statistics(), before);
    rounds_.push_back(round);
    loader_->pause();
  }

  int threads() const { return threads_; }
  const std::vector<Round>& rounds() const { return rounds_; }

 private:
  int64_t deliver(int64_t images) {
    int64_t delivered = 0;
    while (delivered < images) delivered += loader_->next().size;
    return delivered;
  }

  int threads_;
  int64_t images_;
  bool cached_ = false;
  std::unique_ptr<BatchLoader> loader_;
  std::vector<Round> rounds_;
};

std::vector<double> rates(const std::vector<Round>& rounds) {
  std::vector<double> out;
  for (const Round& round : rounds) {
    out.push_back(static_cast<double>(round.images) / round.seconds);
  }
  return out;
}

std::vector<double> cpu_ms(const std::vector<Round>& rounds) {
  std::vector<double> out;
  for (const Round& round : rounds) {
    out.push_back(1e3 * round.cpu_seconds / static_cast<double>(round.images));
  }
  return out;
}

// Median of the ratios within rounds.
double ratio(const std::vector<Round>& rounds, const std::vector<Round>& base) {
  const std::vector<double> own = rates(rounds), other = rates(base);
  std::vector<double> out;
  for (size_t i = 0; i < own.size(); ++i) out.push_back(own[i] / other[i]);
  return median(out);
}

Json row_of(const Configuration& configuration, const Configuration& first) {
  const std::vector<Round>& rounds = configuration.rounds();
  std::vector<double> speed = rates(rounds);
  const std::vector<double> cpu = cpu_ms(rounds);
  Json row = Json::object();
  row["threads"] =
      configuration.threads() == kAutoWorkers ? Json("auto") : Json(configuration.threads());
  row["threads_at_work"] = rounds.back().work.threads;
  row["images_per_second_median"] = median(speed);
  row["images_per_second_best"] = *std::max_element(speed.begin(), speed.end());
  row["images_per_second_worst"] = *std::min_element(speed.begin(), speed.end());
  row["cpu_ms_per_image_median"] = median(cpu);
  row["cpu_ms_per_image_least"] = *std::min_element(cpu.begin(), cpu.end());
  row["x_first_row_median"] = ratio(rounds, first.rounds());
  LoaderStatistics all;
  for (const Round& round : rounds) {
    all.images += round.images;
    all.read_seconds += round.work.read_seconds;
    all.decode_seconds += round.work.decode_seconds;
    all.transform_seconds += round.work.transform_seconds;
    all.tokenize_seconds += round.work.tokenize_seconds;
    all.device_seconds += round.work.device_seconds;
    all.cache_hits += round.work.cache_hits;
  }
  const auto ms = [&all](double seconds) {
    return 1e3 * seconds / static_cast<double>(all.images);
  };
  row["stage_ms_per_image"] = {{"read", ms(all.read_seconds)},
                               {"decode", ms(all.decode_seconds)},
                               {"transform", ms(all.transform_seconds)},
                               {"tokenize", ms(all.tokenize_seconds)},
                               {"device", ms(all.device_seconds)}};
  row["slowest_stage"] = all.slowest_stage();
  row["cache_hits"] = all.cache_hits;
  row["round_images_per_second"] = speed;
  row["round_cpu_ms_per_image"] = cpu;
  return row;
}

std::string table_line(const Json& row) {
  char text[200];
  const Json& stages = row["stage_ms_per_image"];
  std::snprintf(
      text, sizeof text, "%-8s %10.1f %10.1f %10.1f %9.3f %6.2f %8.3f %8.3f %10.3f %9.3f\n",
      display_value(row["threads"]).c_str(), row["images_per_second_median"].get<double>(),
      row["images_per_second_worst"].get<double>(), row["images_per_second_best"].get<double>(),
      row["cpu_ms_per_image_median"].get<double>(), row["x_first_row_median"].get<double>(),
      stages["read"].get<double>(), stages["decode"].get<double>(),
      stages["transform"].get<double>(), stages["tokenize"].get<double>());
  return text;
}

void add_rows(const std::string& where, const std::vector<Json>& rows) {
  std::string lines;
  for (const Json& row : rows) lines += dump_json(row, -1) + "\n";
  if (where == "-") return print(lines);
  std::ofstream file(where, std::ios::app);
  file << lines;
  file.flush();
  CANTILEVER_CHECK(file, "cannot write ", where);
}

// What is measured, opened.
class ByHand {
 public:
  explicit ByHand(const FlagValues& values) : values_(values) {
    const auto splits = open_splits(to_source_options(values, values.get<uint64_t>("seed")));
    const std::string split = values.text("split");
    const auto found = splits.find(split);
    CANTILEVER_CHECK(found != splits.end(), "there is no ", quoted(split), " split in this set");
    source_ = found->second;
    images_ =
        values.optional<int64_t>("images").value_or(std::min(source_->size(), kDefaultImages));
    set_options();
    for (const int threads : parse_thread_list(values.text("threads"))) {
      configurations_.push_back(
          std::make_unique<Configuration>(threads, source_, tokenizer_, options_, images_));
    }
  }

  void run() {
    const auto rounds = values_.get<int64_t>("rounds");
    const size_t count = configurations_.size();
    for (auto& configuration : configurations_) configuration->warm_up();
    Progress bar("measuring", rounds);
    for (int64_t round = 0; round < rounds; ++round) {
      for (size_t i = 0; i < count; ++i) {
        configurations_[(i + static_cast<size_t>(round)) % count]->run_round();
      }
      bar.update(round + 1);
    }
    bar.finish();
    report();
  }

 private:
  void set_options() {
    options_.batch_size = values_.get<int64_t>("batch");
    options_.max_seq_length = values_.get<int64_t>("max_seq_length");
    options_.shuffle = false;
    options_.transform.side = values_.get<int>("image_size");
    options_.transform.semantics = parse_pixel_semantics(values_.text("pixel_semantics"));
    options_.exif_orientation = exif_orientation(values_);
    options_.decode.max_pixels = values_.get<int64_t>("max_image_pixels");
    options_.on_bad_sample =
        values_.text("on_bad_sample") == "skip" ? OnBadSample::kSkip : OnBadSample::kFail;
    options_.device_decode = values_.flag("mediapipe_dataloader");
    const std::string model = values_.text("model_name_or_path");
    const std::string tokenizer = values_.text("tokenizer_name");
    if (!model.empty() || !tokenizer.empty()) {
      tokenizer_ = Tokenizer::from_folder(tokenizer.empty() ? model : tokenizer);
    }
    if (!model.empty()) {
      const Preprocessor processor = Preprocessor::from_folder(model);
      options_.transform.mean = processor.mean;
      options_.transform.std = processor.std;
    }
    set_cache();
  }

  void set_cache() {
    TrainOptions cache;
    set_cache_options(values_, cache);
    if (cache.decoded_cache == "auto") cache.decoded_cache = "off";
    if (cache.decoded_cache == "off") return;
    if (options_.device_decode) {
      throw UsageError("--decoded_cache and --mediapipe_dataloader do not go together");
    }
    if (cache.decoded_cache == "disk" && cache.decoded_cache_dir.empty()) {
      throw UsageError("--decoded_cache disk needs --decoded_cache_dir here");
    }
    cache.pixel_semantics = values_.text("pixel_semantics");
    const CacheDecision decision =
        decide_cache(cache, {"measured", source_->size(), options_.transform.side, true, 2});
    log_info(decision.reason);
    options_.cache = decision.options;
  }

  void report() const {
    std::vector<Json> rows;
    std::string table =
        "threads    images/s      worst       best    CPU ms      x     read   decode  transform  "
        "tokenize  (ms a picture)\n";
    for (const auto& configuration : configurations_) {
      Json row = about();
      const Json measured = row_of(*configuration, *configurations_.front());
      for (const auto& [key, value] : measured.items()) row[key] = value;
      table += table_line(row);
      rows.push_back(std::move(row));
    }
    const std::string where = values_.text("json");
    if (!where.empty()) add_rows(where, rows);
    if (where != "-") print(table);
  }

  Json about() const {
    Json row = Json::object();
    row["what"] = "loader";
    row["command"] = command_line(values_);
    row["date"] = today();
    row["cpu"] = cpu_name();
    row["cores"] = allowed_cpus();
    row["version"] = version_line();
    row["set"] = source_->description();
    row["images"] = images_;
    row["rounds"] = values_.get<int64_t>("rounds");
    row["batch"] = options_.batch_size;
    row["image_size"] = options_.transform.side;
    row["pixel_semantics"] = values_.text("pixel_semantics");
    row["captions"] = tokenizer_ ? "tokenised" : "not read";
    row["decoded_cache"] =
        options_.cache.tier == CacheTier::kOff
            ? Json("off")
            : Json(concat(values_.text("decoded_cache"), ", ", pixel_type_name(options_.cache.type),
                          ", every pass but the first"));
    row["device"] = options_.device_decode ? "stand-in on the CPU" : "none";
    return row;
  }

  const FlagValues& values_;
  std::shared_ptr<ExampleSource> source_;
  std::shared_ptr<const Tokenizer> tokenizer_;
  int64_t images_ = 0;
  LoaderOptions options_;
  std::vector<std::unique_ptr<Configuration>> configurations_;
};

}  // namespace

std::vector<int> parse_thread_list(const std::string& text) {
  std::vector<int> out;
  for (size_t at = 0; at <= text.size();) {
    const size_t end = std::min(text.find(',', at), text.size());
    const std::string word = text.substr(at, end - at);
    at = end + 1;
    int threads = kAutoWorkers;
    const auto [behind, error] = std::from_chars(word.data(), word.data() + word.size(), threads);
    const bool number = error == std::errc() && behind == word.data() + word.size();
    if (word != "auto" && !(number && threads >= 0 && threads <= kMostThreads)) {
      throw UsageError(concat("--threads: ", quoted(text), " is no list such as 0,1,2,auto"));
    }
    out.push_back(word == "auto" ? kAutoWorkers : threads);
  }
  return out;
}

double median(std::vector<double> values) {
  if (values.empty()) return 0;
  std::sort(values.begin(), values.end());
  const size_t middle = values.size() / 2;
  return values.size() % 2 == 1 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
}

int bench_loader(const FlagValues& values) {
  if (is_contestant()) return race_as_contestant(values);
  ByHand(values).run();
  return 0;
}

}  // namespace cantilever
