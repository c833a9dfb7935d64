#include "cantilever/base/log.h"

#include <spdlog/sinks/stdout_color_sinks.h>
#include <spdlog/spdlog.h>

#include <mutex>
#include <set>

namespace cantilever {
namespace {

spdlog::logger& logger() {
  static const std::shared_ptr<spdlog::logger> instance = [] {
    auto created = std::make_shared<spdlog::logger>(
        "cantilever", std::make_shared<spdlog::sinks::stderr_color_sink_mt>());
    created->set_pattern("%^%l%$: %v");
    return created;
  }();
  return *instance;
}

}  // namespace

void set_log_level(LogLevel level) {
  switch (level) {
    case LogLevel::kDebug:
      return logger().set_level(spdlog::level::debug);
    case LogLevel::kInfo:
      return logger().set_level(spdlog::level::info);
    case LogLevel::kWarning:
      return logger().set_level(spdlog::level::warn);
    case LogLevel::kError:
      return logger().set_level(spdlog::level::err);
  }
}

void log_debug(const std::string& message) {
  logger().debug("{}", message);
}
void log_info(const std::string& message) {
  logger().info("{}", message);
}
void log_warning(const std::string& message) {
  logger().warn("{}", message);
}
void log_error(const std::string& message) {
  logger().error("{}", message);
}

void warn_once(const std::string& key, const std::string& message) {
  static std::mutex mutex;
  static std::set<std::string> seen;
  {
    const std::lock_guard lock(mutex);
    if (!seen.insert(key).second) return;
  }
  log_warning(message);
}

}  // namespace cantilever
