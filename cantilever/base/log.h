#pragma once

// Log lines to standard error. Messages arrive as finished strings, since no header here may show
// fmt (README.md says why).

#include <string>

namespace cantilever {

enum class LogLevel { kDebug, kInfo, kWarning, kError };

void set_log_level(LogLevel level);
void log_debug(const std::string& message);
void log_info(const std::string& message);
void log_warning(const std::string& message);
void log_error(const std::string& message);

// The first call with a key logs at warning level, later ones are silent. For facts that would
// otherwise repeat every step.
void warn_once(const std::string& key, const std::string& message);

}  // namespace cantilever
