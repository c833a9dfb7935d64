#include "cantilever/train/sink.h"

namespace cantilever {

void Sinks::log(const LogEntry& entry) {
  for (auto& sink : sinks_) sink->log(entry);
}
void Sinks::text(const std::string& tag, const std::string& content) {
  for (auto& sink : sinks_) sink->text(tag, content);
}
void Sinks::begin_work(const std::string& label, int64_t total, int64_t first) {
  for (auto& sink : sinks_) sink->begin_work(label, total, first);
}
void Sinks::advance_work(int64_t done, const std::string& tail) {
  for (auto& sink : sinks_) sink->advance_work(done, tail);
}
void Sinks::end_work() {
  for (auto& sink : sinks_) sink->end_work();
}

}  // namespace cantilever
