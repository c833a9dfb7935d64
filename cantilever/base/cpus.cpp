#include "cantilever/base/cpus.h"

#include <sched.h>

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <thread>

#include "cantilever/base/file.h"

namespace cantilever {
namespace {

std::optional<int64_t> leading_number(std::string_view text) {
  int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end == text.data()) return std::nullopt;
  return value;
}

std::string content_or_empty(const std::filesystem::path& path) {
  try {
    return std::filesystem::exists(path) ? read_file(path) : "";
  } catch (const std::exception&) {
    return "";
  }
}

int whole_cpus(int64_t quota, int64_t period) {
  if (quota <= 0 || period <= 0) return 0;
  return static_cast<int>(std::min<int64_t>((quota + period - 1) / period, 1 << 16));
}

// The smallest quota of the cgroup of this process and of those above it; 0: none.
int cgroup_quota() {
  int smallest = 0;
  const auto lower = [&smallest](int cpus) {
    if (cpus > 0) smallest = smallest == 0 ? cpus : std::min(smallest, cpus);
  };
  const std::filesystem::path root = "/sys/fs/cgroup";
  std::string own = content_or_empty("/proc/self/cgroup");
  std::filesystem::path folder = root;
  if (const size_t at = own.find("0::/"); at != std::string::npos) {
    folder /= own.substr(at + 4, own.find('\n', at) - at - 4);
  }
  for (int depth = 0; depth < 64; ++depth) {
    lower(parse_cpu_max(content_or_empty(folder / "cpu.max")));
    if (folder == root || !folder.has_parent_path()) break;
    folder = folder.parent_path();
  }
  // Version 1.
  const auto quota = leading_number(content_or_empty(root / "cpu/cpu.cfs_quota_us"));
  const auto period = leading_number(content_or_empty(root / "cpu/cpu.cfs_period_us"));
  if (quota && period) lower(whole_cpus(*quota, *period));
  return smallest;
}

}  // namespace

int parse_cpu_max(std::string_view text) {
  const size_t blank = text.find(' ');
  if (blank == std::string_view::npos) return 0;
  const auto quota = leading_number(text.substr(0, blank));
  const auto period = leading_number(text.substr(blank + 1));
  return quota && period ? whole_cpus(*quota, *period) : 0;
}

int allowed_cpus() {
  int cpus = static_cast<int>(std::max(1U, std::thread::hardware_concurrency()));
  cpu_set_t set;
  CPU_ZERO(&set);
  if (::sched_getaffinity(0, sizeof set, &set) == 0) cpus = std::max(1, CPU_COUNT(&set));
  const int quota = cgroup_quota();
  return quota > 0 ? std::min(cpus, quota) : cpus;
}

}  // namespace cantilever
