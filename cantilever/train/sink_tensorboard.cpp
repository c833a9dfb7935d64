#include <unistd.h>

#include <ctime>

#include "cantilever/base/file.h"
#include "cantilever/io/tfevents.h"
#include "cantilever/train/sink.h"

namespace cantilever {
namespace {

std::string tag_of(const std::string& key) {
  for (const std::string split : {"eval", "test"}) {
    if (key.starts_with(split + "_")) return split + "/" + key.substr(split.size() + 1);
  }
  return "train/" + key;
}

class TensorBoardSink : public Sink {
 public:
  explicit TensorBoardSink(const std::filesystem::path& folder) : writer_(folder) {}

  void log(const LogEntry& entry) override {
    for (const Json* values : {&entry.values, &entry.extra}) {
      for (const auto& [key, value] : values->items()) {
        if (value.is_number()) writer_.add_scalar(tag_of(key), value.get<double>(), entry.step);
      }
    }
  }

  void text(const std::string& tag, const std::string& content) override {
    writer_.add_text(tag, content, 0);
  }

 private:
  EventFileWriter writer_;
};

}  // namespace

std::unique_ptr<Sink> make_tensorboard_sink(const std::filesystem::path& folder) {
  make_folders(folder);
  return std::make_unique<TensorBoardSink>(folder);
}

std::filesystem::path default_logging_dir(const std::filesystem::path& output_dir) {
  const std::time_t now = std::time(nullptr);
  std::tm local{};
  ::localtime_r(&now, &local);
  char date[64];
  std::strftime(date, sizeof date, "%b%d_%H-%M-%S_", &local);
  char host[256] = "localhost";
  ::gethostname(host, sizeof host - 1);
  return output_dir / "runs" / (std::string(date) + host);
}

}  // namespace cantilever
