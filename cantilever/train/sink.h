#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "cantilever/io/json.h"

namespace cantilever {

// One line of the log. `values`: Transformers' keys in its order, epoch last, as
// trainer_state.json's log_history has them. `extra`: what only we log (logit_scale,
// samples_per_second, data_wait_share, skipped_rows, loader_...); it goes to the console and
// TensorBoard, not to log_history.
struct LogEntry {
  int64_t step = 0;
  Json values = Json::object();
  Json extra = Json::object();
};

class Sink {
 public:
  virtual ~Sink() = default;
  virtual void log(const LogEntry& entry) = 0;
  // Longer text, once: arguments, configuration.
  virtual void text(const std::string& /*tag*/, const std::string& /*content*/) {}
  // A long piece of work in `total` parts, of which `first` were done before; one at a time.
  virtual void begin_work(const std::string& /*label*/, int64_t /*total*/, int64_t /*first*/) {}
  virtual void advance_work(int64_t /*done*/, const std::string& /*tail*/) {}
  virtual void end_work() {}
};

// Sends an entry to every sink.
class Sinks {
 public:
  void add(std::unique_ptr<Sink> sink) { sinks_.push_back(std::move(sink)); }
  void log(const LogEntry& entry);
  void text(const std::string& tag, const std::string& content);
  void begin_work(const std::string& label, int64_t total, int64_t first = 0);
  void advance_work(int64_t done, const std::string& tail = "");
  void end_work();

 private:
  std::vector<std::unique_ptr<Sink>> sinks_;
};

// A progress bar on a terminal; log lines as {'loss': '2.088', ...} on standard output. `bar` false
// (--disable_tqdm): the lines alone.
std::unique_ptr<Sink> make_console_sink(bool bar);

// Scalars under the tags of Transformers' TensorBoardCallback: eval_x as eval/x, test_x as test/x,
// all others as train/x.
std::unique_ptr<Sink> make_tensorboard_sink(const std::filesystem::path& folder);

// transformers.training_args.default_logdir: runs/Nov30_18-08-12_HOST.
std::filesystem::path default_logging_dir(const std::filesystem::path& output_dir);

}  // namespace cantilever
