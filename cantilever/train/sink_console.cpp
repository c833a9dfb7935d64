#include <unistd.h>

#include <cstdio>
#include <optional>

#include "cantilever/base/progress.h"
#include "cantilever/train/results.h"
#include "cantilever/train/sink.h"

namespace cantilever {
namespace {

class ConsoleSink : public Sink {
 public:
  explicit ConsoleSink(bool bar) : bar_(bar) {}

  void log(const LogEntry& entry) override {
    Json values = entry.values;
    values.erase("total_flos");
    // The loader's dozen of values is for a file and TensorBoard: on a terminal it would bury the
    // loss.
    const bool terminal = ::isatty(STDOUT_FILENO) != 0;
    for (const auto& [key, value] : entry.extra.items()) {
      if (!terminal || !key.starts_with("loader_")) values[key] = value;
    }
    const std::string line = format_log_line(values);
    // On one terminal the line has to go above the bar; a file gets it from standard output.
    if (work_ && terminal) {
      work_->print_line(line);
    } else {
      std::printf("%s\n", line.c_str());
      std::fflush(stdout);
    }
  }

  void begin_work(const std::string& label, int64_t total, int64_t first) override {
    work_.emplace(label, total, bar_, first);
  }
  void advance_work(int64_t done, const std::string& tail) override {
    if (work_) work_->update(done, tail);
  }
  void end_work() override { work_.reset(); }

 private:
  bool bar_;
  std::optional<Progress> work_;
};

}  // namespace

std::unique_ptr<Sink> make_console_sink(bool bar) {
  return std::make_unique<ConsoleSink>(bar);
}

}  // namespace cantilever
