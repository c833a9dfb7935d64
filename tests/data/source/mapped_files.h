#pragma once

// Files that are mapped, and what the kernel says about this process's memory.

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <span>
#include <sstream>
#include <string>

namespace cantilever::test {

// A new file in place of the old one. (Cutting the old one to nothing would make some file systems
// write it to disk first.)
inline void replace_file(const std::filesystem::path& path, const std::string& content) {
  std::filesystem::remove(path);
  std::ofstream(path, std::ios::binary) << content;
}

// Whether `bytes` lie in a mapping of the file `path`.
inline bool lies_in_mapped_file(std::span<const std::byte> bytes,
                                const std::filesystem::path& path) {
  std::ifstream maps("/proc/self/maps");
  std::string line;
  const auto first = reinterpret_cast<uintptr_t>(bytes.data());
  while (std::getline(maps, line)) {
    if (line.find(path.filename().string()) == std::string::npos) continue;
    uintptr_t begin = 0;
    uintptr_t end = 0;
    char dash = 0;
    std::istringstream(line) >> std::hex >> begin >> dash >> end;
    if (first >= begin && first + bytes.size() <= end) return true;
  }
  return false;
}

// Anonymous memory of this process that is in RAM, in bytes.
inline int64_t anonymous_bytes() {
  std::ifstream status("/proc/self/status");
  std::string line;
  while (std::getline(status, line)) {
    if (line.starts_with("RssAnon:")) return std::atoll(line.c_str() + 8) * 1024;
  }
  return -1;
}

}  // namespace cantilever::test
