// How much a cache may take.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <vector>

#include "cantilever/data/loader/decoded_cache_limit.h"
#include "cantilever/data/loader/decoded_cache_rows.h"
#include "tests/data/loader/decoded_cache_support.h"

namespace cantilever::test {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

TEST(DecodedCacheLimit, Fits) {
  EXPECT_TRUE(cache_fits(10, 100, PixelType::kUint8, 1000));
  EXPECT_FALSE(cache_fits(10, 100, PixelType::kUint8, 999));
  EXPECT_TRUE(cache_fits(10, 100, PixelType::kFloat32, 4000));
  EXPECT_FALSE(cache_fits(10, 100, PixelType::kFloat32, 3999));
  EXPECT_TRUE(cache_fits(0, 100, PixelType::kFloat32, 0));
  const int64_t most = std::numeric_limits<int64_t>::max();
  EXPECT_FALSE(cache_fits(most, most, PixelType::kFloat32, most));
}

void write_text(const fs::path& path, const std::string& text) {
  fs::create_directories(path.parent_path());
  std::ofstream(path) << text;
}

TEST(DecodedCacheLimit, MemoryOfTheMachine) {
  const TemporaryFolder root;
  EXPECT_EQ(available_memory(root.path()), std::numeric_limits<int64_t>::max());
  write_text(root / "proc/meminfo", "MemTotal:  9 kB\nMemAvailable:     2000 kB\nSwapFree: 1 kB\n");
  EXPECT_EQ(available_memory(root.path()), 2000 * 1024);
}

TEST(DecodedCacheLimit, MemoryOfACgroup2AndTheGroupsAbove) {
  const TemporaryFolder root;
  const fs::path group = root / "sys/fs/cgroup/a/b";
  write_text(root / "proc/meminfo", "MemAvailable: 2000 kB\n");
  write_text(root / "proc/self/cgroup", "0::/a/b\n");
  EXPECT_EQ(available_memory(root.path()), 2000 * 1024) << "no files of the group";
  write_text(group / "memory.max", "max\n");
  write_text(group / "memory.current", "5000\n");
  EXPECT_EQ(available_memory(root.path()), 2000 * 1024) << "no limit";
  write_text(group / "memory.max", "50000\n");
  EXPECT_EQ(available_memory(root.path()), 45000);
  write_text(group / "memory.stat", "anon 1000\ninactive_file 3000\n");
  EXPECT_EQ(available_memory(root.path()), 48000) << "cache can be given up";
  write_text(group.parent_path() / "memory.max", "20000\n");
  write_text(group.parent_path() / "memory.current", "18000\n");
  EXPECT_EQ(available_memory(root.path()), 2000) << "the group above has less";
  write_text(root / "sys/fs/cgroup/memory.max", "100\n");
  write_text(root / "sys/fs/cgroup/memory.current", "300\n");
  EXPECT_EQ(available_memory(root.path()), 0) << "as a container sees it";
}

TEST(DecodedCacheLimit, MemoryOfACgroup1) {
  const TemporaryFolder root;
  const fs::path group = root / "sys/fs/cgroup/memory/docker";
  write_text(root / "proc/meminfo", "MemAvailable: 2000 kB\n");
  write_text(root / "proc/self/cgroup", "4:cpu,cpuacct:/docker\n9:memory:/docker\n1:name=x:/\n");
  write_text(group / "memory.limit_in_bytes", "9223372036854771712\n");
  write_text(group / "memory.usage_in_bytes", "1\n");
  EXPECT_EQ(available_memory(root.path()), 2000 * 1024);
  write_text(group / "memory.limit_in_bytes", "9000\n");
  write_text(group / "memory.usage_in_bytes", "4000\n");
  write_text(group / "memory.stat", "cache 2000\ntotal_inactive_file 1000\n");
  EXPECT_EQ(available_memory(root.path()), 6000);
}

TEST(DecodedCacheLimit, DefaultsAreHalfOfWhatIsFree) {
  const TemporaryFolder folder;
  EXPECT_EQ(default_cache_limit(CacheTier::kOff, folder.path()), 0);
  const auto memory = static_cast<double>(available_memory());
  EXPECT_NEAR(static_cast<double>(default_cache_limit(CacheTier::kRam, {})), memory / 2,
              memory / 10);
  const auto free = static_cast<double>(free_disk(folder.path()));
  EXPECT_GT(free, 0);
  const fs::path later = folder / "not/yet/there";
  EXPECT_NEAR(static_cast<double>(default_cache_limit(CacheTier::kDisk, later)), free / 2,
              free / 10);
  EXPECT_FALSE(fs::exists(folder / "not"));
}

TEST(DecodedCacheLimit, WhatTheCacheItselfHoldsCountsAsFree) {
  const TemporaryFolder folder;
  const SmallDisk small(folder, "size=4m");
  if (!small.mounted()) {
    GTEST_SKIP() << "a small file system cannot be mounted here (needs root)";
  }
  const int64_t before = default_cache_limit(CacheTier::kDisk, folder.path());
  {
    const auto cache = DecodedCache::open(disk(folder, 2'000'000), 2000, kValues, "k");
    for (int64_t row = 0; row < 2000; ++row) put(*cache, row);
  }
  EXPECT_LT(free_disk(folder.path()), 2 * before - 1'900'000);
  EXPECT_NEAR(static_cast<double>(default_cache_limit(CacheTier::kDisk, folder.path())),
              static_cast<double>(before), 10'000);
}

TEST(DecodedCacheSum, SeesEveryByteAndTheRow) {
  std::vector<unsigned char> bytes(100, 7);
  for (size_t size = 0; size <= bytes.size(); ++size) {
    const uint64_t sum = pixel_sum(bytes.data(), size, 1);
    EXPECT_NE(sum, pixel_sum(bytes.data(), size, 2));
    for (size_t i = 0; i < size; ++i) {
      bytes[i] ^= 0x80U;
      EXPECT_NE(sum, pixel_sum(bytes.data(), size, 1)) << size << " " << i;
      bytes[i] ^= 0x80U;
    }
    EXPECT_EQ(sum, pixel_sum(bytes.data(), size, 1));
  }
  const std::vector<unsigned char> zeros(4096);
  EXPECT_NE(pixel_sum(zeros.data(), 4096, 0), 0U) << "an entry that was lost is all zero";
}

}  // namespace
}  // namespace cantilever::test
