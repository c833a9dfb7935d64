#include "cantilever/train/results.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "cantilever/base/error.h"
#include "cantilever/base/log.h"
#include "cantilever/train/meters.h"

namespace cantilever {
namespace {

std::string format_time(double seconds) {
  const auto whole = static_cast<long long>(seconds);
  const int hundredths = static_cast<int>((seconds - static_cast<double>(whole)) * 100);
  char text[64];
  std::snprintf(text, sizeof text, "%lld:%02lld:%02lld.%02d", whole / 3600, whole / 60 % 60,
                whole % 60, hundredths);
  return text;
}

std::string format_value(const std::string& key, const Json& value) {
  if (!value.is_number())
    return value.is_string() ? value.get<std::string>() : dump_json(value, -1);
  const double number = value.get<double>();
  if (key.find("_runtime") != std::string::npos && std::isfinite(number)) {
    return format_time(number);
  }
  if (key == "total_flos" && std::isfinite(number)) {
    return concat(static_cast<long long>(number / 1073741824.0), "GF");
  }
  if (value.is_number_float()) return dump_json(Json(round_decimals(number, 4)), -1);
  return dump_json(value, -1);
}

}  // namespace

void save_metrics(const std::filesystem::path& output_dir, const std::string& split,
                  const Json& metrics) {
  write_json(output_dir / (split + "_results.json"), metrics, 4, true, false);
  const auto all_path = output_dir / "all_results.json";
  Json all = Json::object();
  try {
    if (std::filesystem::exists(all_path)) all = read_json(all_path);
    CANTILEVER_CHECK(all.is_object(), all_path.string(), ": holds no object");
  } catch (const Error& problem) {
    // An old report must not end a run whose own results are there.
    log_warning(concat(problem.what(), "; the file is written anew"));
    all = Json::object();
  }
  for (const auto& [key, value] : metrics.items()) all[key] = value;
  write_json(all_path, all, 4, true, false);
}

std::string format_metrics(const std::string& split, const Json& metrics) {
  std::map<std::string, std::string> rows;
  size_t key_width = 0;
  size_t value_width = 0;
  for (const auto& [key, value] : metrics.items()) {
    rows[key] = format_value(key, value);
    key_width = std::max(key_width, key.size());
    value_width = std::max(value_width, rows[key].size());
  }
  std::string text = concat("***** ", split, " metrics *****\n");
  for (const auto& [key, value] : rows) {
    text += concat("  ", key, std::string(key_width - key.size(), ' '), " = ",
                   std::string(value_width - value.size(), ' '), value, "\n");
  }
  return text;
}

std::string format_log_line(const Json& values) {
  std::string line = "{";
  for (const auto& [key, value] : values.items()) {
    if (line.size() > 1) line += ", ";
    line += concat("'", key, "': ");
    if (value.is_number_float()) {
      const double number = value.get<double>();
      char text[40];
      std::snprintf(text, sizeof text, "%.4g", number);
      line += concat("'", std::isnan(number) ? "nan" : text, "'");
    } else {
      line += dump_json(value, -1);
    }
  }
  return line + "}";
}

}  // namespace cantilever
