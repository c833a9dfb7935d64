#include "cantilever/data/loader/decoded_cache_limit.h"

#include <sys/statvfs.h>

#include <algorithm>
#include <charconv>
#include <limits>
#include <optional>
#include <sstream>
#include <string>
#include <string_view>

#include "cantilever/base/error.h"
#include "cantilever/base/file.h"

namespace cantilever {
namespace {

namespace fs = std::filesystem;

constexpr int64_t kUnknown = std::numeric_limits<int64_t>::max();
// A v1 group without a limit says 2^63 rounded down to a page.
constexpr int64_t kNoLimit = int64_t{1} << 60U;

std::string content_of(const fs::path& path) {
  try {
    return read_file(path);
  } catch (const Error&) {
    return {};  // another kernel, another set of files
  }
}

std::optional<int64_t> number_in(std::string_view text) {
  const size_t begin = text.find_first_not_of(" \t");
  if (begin == std::string_view::npos) return std::nullopt;
  int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data() + begin, text.data() + text.size(), value);
  if (error != std::errc() || value < 0) return std::nullopt;
  return value;
}

// The number of the line "name 123" or "name: 123".
std::optional<int64_t> field(const std::string& text, std::string_view name) {
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with(name)) continue;
    std::string_view rest = std::string_view(line).substr(name.size());
    if (rest.starts_with(":")) rest.remove_prefix(1);
    if (rest.starts_with(" ") || rest.starts_with("\t")) return number_in(rest);
  }
  return std::nullopt;
}

struct GroupFiles {
  const char* limit;
  const char* usage;
  const char* cache;  // field of memory.stat
};

// Of one group: its limit less what it uses and could not give up.
int64_t left_in(const fs::path& group, const GroupFiles& files) {
  const std::optional<int64_t> limit = number_in(content_of(group / files.limit));
  if (!limit || *limit >= kNoLimit) return kUnknown;
  const std::optional<int64_t> usage = number_in(content_of(group / files.usage));
  if (!usage) return kUnknown;
  const int64_t cache = field(content_of(group / "memory.stat"), files.cache).value_or(0);
  return std::max<int64_t>(0, *limit - std::max<int64_t>(0, *usage - cache));
}

// The group and all above it: each may hold a limit. In a container the path of the host may not be
// visible, but the container's group is the root of what is.
int64_t left_in_groups(const fs::path& mount, const std::string& group, const GroupFiles& files) {
  int64_t left = left_in(mount, files);
  fs::path path = mount;
  for (const fs::path& part : fs::path(group).relative_path()) {
    if (part == "..") break;
    path /= part;
    left = std::min(left, left_in(path, files));
  }
  return left;
}

}  // namespace

int64_t available_memory(const fs::path& root) {
  int64_t left = kUnknown;
  if (const auto kilobytes = field(content_of(root / "proc/meminfo"), "MemAvailable")) {
    left = *kilobytes * 1024;
  }
  std::istringstream groups(content_of(root / "proc/self/cgroup"));
  for (std::string line; std::getline(groups, line);) {
    const size_t first = line.find(':');
    const size_t second = line.find(':', first + 1);
    if (first == std::string::npos || second == std::string::npos) continue;
    const std::string controllers = "," + line.substr(first + 1, second - first - 1) + ",";
    const std::string group = line.substr(second + 1);
    const fs::path mount = root / "sys/fs/cgroup";
    if (controllers == ",,") {
      left = std::min(
          left, left_in_groups(mount, group, {"memory.max", "memory.current", "inactive_file"}));
    } else if (controllers.find(",memory,") != std::string::npos) {
      left = std::min(left, left_in_groups(mount / "memory", group,
                                           {"memory.limit_in_bytes", "memory.usage_in_bytes",
                                            "total_inactive_file"}));
    }
  }
  return left;
}

int64_t free_disk(const fs::path& folder) {
  std::error_code ignored;
  fs::path existing = fs::absolute(folder, ignored);
  while (!fs::exists(existing, ignored) && existing.has_relative_path()) {
    existing = existing.parent_path();
  }
  struct statvfs found{};
  if (::statvfs(existing.c_str(), &found) != 0) return kUnknown;
  const double bytes = static_cast<double>(found.f_bavail) * static_cast<double>(found.f_frsize);
  return bytes < 9e18 ? static_cast<int64_t>(bytes) : kUnknown;
}

}  // namespace cantilever
