#pragma once

#include <cstdint>
#include <filesystem>

namespace cantilever {

// Bytes of memory that this process can still take without swapping: MemAvailable, or what the
// limits of its cgroup (v2, v1) and the groups above leave, whichever is less. Page cache that the
// kernel would give up counts as free. INT64_MAX when nothing is known. `root`: where /proc and
// /sys are looked for, for tests.
int64_t available_memory(const std::filesystem::path& root = "/");

// Bytes that this user may still write to the file system of `folder`, which need not exist yet.
// INT64_MAX when it is not known.
int64_t free_disk(const std::filesystem::path& folder);

}  // namespace cantilever
