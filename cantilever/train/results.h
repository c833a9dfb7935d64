#pragma once

#include <filesystem>
#include <string>

#include "cantilever/io/json.h"

namespace cantilever {

// SPLIT_results.json and the union of all splits in all_results.json, as Trainer.save_metrics
// writes them: indented by 4, sorted, no newline at the end. An all_results.json that is there is
// updated; one that cannot be read is replaced, with a warning.
void save_metrics(const std::filesystem::path& output_dir, const std::string& split,
                  const Json& metrics);

// The table Trainer.log_metrics prints: times as h:mm:ss.cc, FLOPs in GF, four decimals.
std::string format_metrics(const std::string& split, const Json& metrics);

// One line of a console as the Trainer prints logs: {'loss': '2.088', ...}, floats with four
// digits.
std::string format_log_line(const Json& values);

}  // namespace cantilever
