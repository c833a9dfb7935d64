// A disk cache and its surroundings: runs that are killed, runs at the same time, disks that are
// full or cannot be written.

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>

#include <chrono>
#include <thread>
#include <vector>

#include "tests/data/loader/decoded_cache_support.h"

namespace cantilever::test {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

TEST(DiskCache, AKilledRunLeavesNoHalfPicture) {
  const TemporaryFolder folder;
  constexpr int64_t kRows = 400;
  constexpr int64_t kLarge = 50'000;
  int64_t before = 0;
  for (int kill = 1; kill <= 6; ++kill) {
    const pid_t child = ::fork();
    if (child == 0) {
      const auto cache = DecodedCache::open(disk(folder, kRows * kLarge), kRows, kLarge, "k");
      for (int64_t row = kill;; row = (row + 1) % kRows) put(*cache, row, kLarge);
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(20 * kill));
    ::kill(child, SIGKILL);
    int status = 0;
    ::waitpid(child, &status, 0);
    ASSERT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
    const auto cache = DecodedCache::open(disk(folder, kRows * kLarge), kRows, kLarge, "k");
    const int64_t promised = cache->kept_rows();
    EXPECT_GE(promised, before);
    int64_t found = 0;
    for (int64_t row = 0; row < kRows; ++row) {
      const void* picture = cache->find(row);
      if (picture == nullptr) continue;
      EXPECT_TRUE(is_picture(picture, row, kLarge)) << row;
      ++found;
    }
    EXPECT_EQ(found, promised) << "a row was marked as kept and its sum is wrong";
    before = promised;
  }
  EXPECT_GT(before, 0);
}

TEST(DiskCache, ASecondRunReadsWhatTheFirstWrites) {
  const TemporaryFolder folder;
  const auto cache = DecodedCache::open(disk(folder), 10, kValues, "k");
  EXPECT_TRUE(put(*cache, 1));
  int to_child[2];
  int to_parent[2];
  ASSERT_EQ(::pipe(to_child) | ::pipe(to_parent), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    const auto shared = DecodedCache::open(disk(folder), 10, kValues, "k");
    bool right = shared->find(1) != nullptr && is_picture(shared->find(1), 1);
    right = right && shared->find(2) == nullptr && shared->reserve(2) == nullptr;
    char byte = 0;
    right = right && ::write(to_parent[1], &byte, 1) == 1 && ::read(to_child[0], &byte, 1) == 1;
    right = right && shared->find(2) != nullptr && is_picture(shared->find(2), 2);
    right = right && shared->kept_rows() == 2;
    right = right && shared->description().find("of another run") != std::string::npos;
    ::_exit(right ? 0 : 1);
  }
  char byte = 0;
  ASSERT_EQ(::read(to_parent[0], &byte, 1), 1);
  EXPECT_TRUE(put(*cache, 2));
  ASSERT_EQ(::write(to_child[1], &byte, 1), 1);
  int status = 0;
  ::waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
  for (const int end : {to_child[0], to_child[1], to_parent[0], to_parent[1]}) ::close(end);
}

TEST(DiskCache, SharingIsSaidInAWarning) {
  const TemporaryFolder folder;
  const auto first = DecodedCache::open(disk(folder), 10, kValues, "k");
  EXPECT_TRUE(put(*first, 1));
  testing::internal::CaptureStderr();
  const auto second = DecodedCache::open(disk(folder), 10, kValues, "k");
  EXPECT_THAT(testing::internal::GetCapturedStderr(), HasSubstr("is being used by another run"));
  expect_row(*second, 1);
  EXPECT_EQ(second->reserve(2), nullptr);
}

TEST(DiskCache, AReaderStaysAwayFromADamagedPicture) {
  const TemporaryFolder folder;
  const auto first = DecodedCache::open(disk(folder), 10, kValues, "k");
  EXPECT_TRUE(put(*first, 1));
  overwrite(only_file(folder), kSlots, "\xee\xee");
  const auto second = DecodedCache::open(disk(folder), 10, kValues, "k");
  EXPECT_EQ(second->find(1), nullptr);
  EXPECT_EQ(second->find(1), nullptr);
}

TEST(DiskCache, ManyStartAtOnceAndOneWrites) {
  const TemporaryFolder folder;
  std::vector<pid_t> children;
  int go[2];
  int stop[2];
  ASSERT_EQ(::pipe(go) | ::pipe(stop), 0);
  for (int i = 0; i < 6; ++i) {
    children.push_back(::fork());
    if (children.back() == 0) {
      char byte = 0;
      ::close(stop[1]);
      if (::read(go[0], &byte, 1) != 1) ::_exit(9);
      const auto cache = DecodedCache::open(disk(folder), 10, kValues, "k");
      const bool writes = cache->reserve(0) != nullptr;
      if (::read(stop[0], &byte, 1) < 0) ::_exit(9);  // until the parent closes its end
      ::_exit(writes ? 1 : 0);
    }
  }
  ASSERT_EQ(::write(go[1], "abcdef", 6), 6);
  std::this_thread::sleep_for(std::chrono::milliseconds(500));
  ::close(stop[1]);
  int writers = 0;
  for (const pid_t child : children) {
    int status = 0;
    ::waitpid(child, &status, 0);
    ASSERT_TRUE(WIFEXITED(status));
    ASSERT_LE(WEXITSTATUS(status), 1);
    writers += WEXITSTATUS(status);
  }
  EXPECT_EQ(writers, 1);
  only_file(folder);
  for (const int end : {go[0], go[1], stop[0]}) ::close(end);
}

TEST(DiskCache, ALimitOnFileSizesEndsTheGrowthNotTheProcess) {
  const TemporaryFolder folder;
  EXPECT_EQ(in_child([&] {
              const struct rlimit limit = {kSlots + 5 * kValues + 1, kSlots + 5 * kValues + 1};
              if (::setrlimit(RLIMIT_FSIZE, &limit) != 0) return 50;
              const auto cache = DecodedCache::open(disk(folder), 10, kValues, "k");
              int kept = 0;
              for (int64_t row = 0; row < 10; ++row) kept += put(*cache, row) ? 1 : 0;
              for (int64_t row = 0; row < 5; ++row) {
                if (cache->find(row) == nullptr || !is_picture(cache->find(row), row)) return 51;
              }
              return kept;
            }),
            5);
}

TEST(DiskCache, AFullDiskEndsTheGrowthNotTheProcess) {
  const TemporaryFolder folder;
  const SmallDisk small(folder, "size=1m");
  if (!small.mounted()) {
    GTEST_SKIP() << "a small file system cannot be mounted here (needs root)";
  }
  constexpr int64_t kLarge = 50'000;
  {
    const auto cache = DecodedCache::open(disk(folder, 15 * kLarge), 100, kLarge, "k");
    std::ofstream(folder / "other") << std::string(500'000, 'x');  // taken by somebody else
    testing::internal::CaptureStderr();
    int64_t kept = 0;
    for (int64_t row = 0; row < 100; ++row) kept += put(*cache, row, kLarge) ? 1 : 0;
    EXPECT_THAT(testing::internal::GetCapturedStderr(), HasSubstr("No space left on device"));
    EXPECT_GE(kept, 5);
    EXPECT_LE(kept, 11);
    for (int64_t row = 0; row < kept; ++row) {
      EXPECT_TRUE(is_picture(cache->find(row), row, kLarge)) << row;
    }
  }
  {
    // More than the disk has is known at the start.
    EXPECT_THAT(error_of([&] { DecodedCache::open(disk(folder, 100 * kLarge), 100, kLarge, "k"); }),
                HasSubstr("and the disk has"));
  }
}

TEST(DiskCache, AFolderThatCannotBeWrittenIsAnError) {
  const TemporaryFolder folder;
  std::ofstream(folder / "file") << "x";
  DecodedCacheOptions options = disk(folder);
  options.folder = folder / "file";
  EXPECT_THAT(error_of([&] { DecodedCache::open(options, 10, kValues, "k"); }),
              HasSubstr((folder / "file").string()));
  options.folder = "/proc/cantilever-cache";
  EXPECT_THAT(error_of([&] { DecodedCache::open(options, 10, kValues, "k"); }),
              HasSubstr("/proc/cantilever-cache"));
}

TEST(DiskCache, AReadOnlyFileIsUsedForReadingAndAReadOnlyFolderIsAnError) {
  const TemporaryFolder folder;
  const SmallDisk small(folder, "size=1m");
  if (!small.mounted()) {
    GTEST_SKIP() << "a file system cannot be mounted here (needs root)";
  }
  {
    put(*DecodedCache::open(disk(folder), 10, kValues, "k"), 5);
  }
  ASSERT_TRUE(small.make_read_only());
  {
    testing::internal::CaptureStderr();
    const auto cache = DecodedCache::open(disk(folder), 10, kValues, "k");
    EXPECT_THAT(testing::internal::GetCapturedStderr(), HasSubstr("cannot be written"));
    expect_row(*cache, 5);
    EXPECT_EQ(cache->reserve(1), nullptr);
    EXPECT_THAT(error_of([&] { DecodedCache::open(disk(folder), 10, kValues, "other"); }),
                HasSubstr("Read-only file system"));
  }
}

TEST(DiskCache, AnythingButAFileUnderTheNameIsAnError) {
  const TemporaryFolder folder;
  {
    put(*DecodedCache::open(disk(folder), 10, kValues, "k"), 5);
  }
  const fs::path path = only_file(folder);
  fs::remove(path);
  fs::create_symlink(folder / "elsewhere", path);
  EXPECT_THAT(error_of([&] { DecodedCache::open(disk(folder), 10, kValues, "k"); }),
              HasSubstr(path.string()));
  EXPECT_FALSE(fs::exists(folder / "elsewhere"));
  fs::remove(path);
  fs::create_directory(path);
  EXPECT_THAT(error_of([&] { DecodedCache::open(disk(folder), 10, kValues, "k"); }),
              HasSubstr(path.string()));
}

}  // namespace
}  // namespace cantilever::test
