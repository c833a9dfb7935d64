#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <functional>
#include <string>

#include "cantilever/base/error.h"
#include "cantilever/data/loader/decoded_cache.h"
#include "tests/support/temporary_folder.h"

namespace cantilever::test {

constexpr int64_t kValues = 1000;  // of a picture
// Offsets in a cache file with a short key: one page of header, one of entries.
constexpr int64_t kEntries = 4096;
constexpr int64_t kSlots = 8192;

inline DecodedCacheOptions ram(int64_t limit, PixelType type = PixelType::kUint8) {
  return {CacheTier::kRam, type, limit, {}};
}

inline DecodedCacheOptions disk(const TemporaryFolder& folder, int64_t limit = 1 << 20) {
  return {CacheTier::kDisk, PixelType::kUint8, limit, folder.path()};
}

inline uint8_t value_of(int64_t row, int64_t i) {
  return static_cast<uint8_t>(row * 31 + i * 7 + i / 256);
}

inline void fill_picture(void* place, int64_t row, int64_t values = kValues) {
  for (int64_t i = 0; i < values; ++i) static_cast<uint8_t*>(place)[i] = value_of(row, i);
}

inline bool is_picture(const void* place, int64_t row, int64_t values = kValues) {
  for (int64_t i = 0; i < values; ++i) {
    if (static_cast<const uint8_t*>(place)[i] != value_of(row, i)) return false;
  }
  return true;
}

// Whether the row went in.
inline bool put(DecodedCache& cache, int64_t row, int64_t values = kValues) {
  void* place = cache.reserve(row);
  if (place == nullptr) return false;
  fill_picture(place, row, values);
  cache.keep(row);
  return true;
}

inline void expect_row(const DecodedCache& cache, int64_t row) {
  const void* found = cache.find(row);
  ASSERT_NE(found, nullptr) << "row " << row;
  EXPECT_TRUE(is_picture(found, row)) << "row " << row;
}

inline std::string error_of(const std::function<void()>& action) {
  try {
    action();
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

// Runs the body in a child process and waits; the body's result is the exit status. 1000 + n: ended
// by signal n.
inline int in_child(const std::function<int()>& body) {
  const pid_t child = ::fork();
  if (child == 0) {
    int status = 99;
    try {
      status = body();
    } catch (const std::exception& error) {
      std::fprintf(stderr, "child: %s\n", error.what());
    }
    ::_exit(status);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status);
}

inline std::filesystem::path only_file(const TemporaryFolder& folder) {
  EXPECT_EQ(folder.entries(), 1U);
  return std::filesystem::directory_iterator(folder.path())->path();
}

inline void overwrite(const std::filesystem::path& path, int64_t offset, const std::string& bytes) {
  std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
  file.seekp(offset);
  file.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  ASSERT_TRUE(file.good());
}

// A small file system of its own on a folder, where this user may have one (root may).
class SmallDisk {
 public:
  SmallDisk(const TemporaryFolder& folder, const char* size)
      : path_(folder.path()), mounted_(::mount("none", path_.c_str(), "tmpfs", 0, size) == 0) {}
  ~SmallDisk() {
    if (mounted_) ::umount(path_.c_str());
  }
  SmallDisk(const SmallDisk&) = delete;
  SmallDisk& operator=(const SmallDisk&) = delete;

  bool mounted() const { return mounted_; }
  bool make_read_only() const {
    return ::mount("none", path_.c_str(), "tmpfs", MS_REMOUNT | MS_RDONLY, "") == 0;
  }

 private:
  std::filesystem::path path_;
  bool mounted_;
};

}  // namespace cantilever::test
