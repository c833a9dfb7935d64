// The cache of finished pictures: what it promises in memory and on the disk, and what it survives.

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstring>
#include <fstream>
#include <functional>
#include <span>
#include <thread>

#include "cantilever/base/error.h"
#include "cantilever/base/file.h"
#include "cantilever/data/loader/decoded_cache.h"
#include "cantilever/data/loader/decoded_cache_limit.h"
#include "cantilever/data/loader/decoded_cache_rows.h"
#include "tests/support/temporary_folder.h"

namespace cantilever {
namespace {

namespace fs = std::filesystem;
using test::TemporaryFolder;
using testing::HasSubstr;

constexpr int64_t kValues = 1000;

DecodedCacheOptions ram(int64_t limit, PixelType type = PixelType::kUint8) {
  return {CacheTier::kRam, type, limit, {}};
}

DecodedCacheOptions disk(const TemporaryFolder& folder, int64_t limit = 1 << 20) {
  return {CacheTier::kDisk, PixelType::kUint8, limit, folder.path()};
}

uint8_t value_of(int64_t row, int64_t i) {
  return static_cast<uint8_t>(row * 31 + i * 7 + i / 256);
}

void fill_picture(void* place, int64_t row, int64_t values = kValues) {
  for (int64_t i = 0; i < values; ++i) static_cast<uint8_t*>(place)[i] = value_of(row, i);
}

bool is_picture(const void* place, int64_t row, int64_t values = kValues) {
  for (int64_t i = 0; i < values; ++i) {
    if (static_cast<const uint8_t*>(place)[i] != value_of(row, i)) return false;
  }
  return true;
}

// Whether the row went in.
bool put(DecodedCache& cache, int64_t row, int64_t values = kValues) {
  void* place = cache.reserve(row);
  if (place == nullptr) return false;
  fill_picture(place, row, values);
  cache.keep(row);
  return true;
}

void expect_row(const DecodedCache& cache, int64_t row) {
  const void* found = cache.find(row);
  ASSERT_NE(found, nullptr) << "row " << row;
  EXPECT_TRUE(is_picture(found, row)) << "row " << row;
}

std::string error_of(const std::function<void()>& action) {
  try {
    action();
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

// Runs the body in a child process and waits; the body's result is the exit status. 1000 + n: ended
// by signal n.
int in_child(const std::function<int()>& body) {
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

fs::path only_file(const TemporaryFolder& folder) {
  EXPECT_EQ(folder.entries(), 1U);
  return fs::directory_iterator(folder.path())->path();
}

void overwrite(const fs::path& path, int64_t offset, const std::string& bytes) {
  std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
  file.seekp(offset);
  file.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  ASSERT_TRUE(file.good());
}

TEST(DecodedCache, OffIsNone) {
  EXPECT_EQ(DecodedCache::open({}, 10, kValues, "k"), nullptr);
}

TEST(DecodedCache, RowsGoInOnceAndStay) {
  const TemporaryFolder folder;
  for (const DecodedCacheOptions& options : {ram(1 << 20), disk(folder)}) {
    const auto cache = DecodedCache::open(options, 5, kValues, "k");
    EXPECT_EQ(cache->find(3), nullptr);
    void* place = cache->reserve(3);
    ASSERT_NE(place, nullptr);
    EXPECT_EQ(cache->find(3), nullptr) << "not complete yet";
    EXPECT_EQ(cache->reserve(3), nullptr) << "taken";
    fill_picture(place, 3);
    cache->keep(3);
    EXPECT_EQ(cache->find(3), place);
    EXPECT_EQ(cache->reserve(3), nullptr) << "is there";
    expect_row(*cache, 3);
    EXPECT_EQ(cache->kept_rows(), 1);
    EXPECT_THAT(cache->description(), HasSubstr(", u8, 1 of 5 rows, 1.0 KB"));
  }
}

TEST(DecodedCache, ADroppedRowGivesItsPlaceBack) {
  const TemporaryFolder folder;
  for (const DecodedCacheOptions& options : {ram(kValues), disk(folder, kValues)}) {
    const auto cache = DecodedCache::open(options, 5, kValues, "k");
    ASSERT_NE(cache->reserve(0), nullptr);
    EXPECT_EQ(cache->reserve(1), nullptr) << "one place only";
    cache->drop(0);
    EXPECT_TRUE(put(*cache, 1));
    EXPECT_EQ(cache->find(0), nullptr);
    EXPECT_EQ(cache->reserve(0), nullptr);
    expect_row(*cache, 1);
  }
}

TEST(DecodedCache, TheLimitIsExact) {
  const TemporaryFolder folder;
  for (const int64_t limit :
       {int64_t{0}, kValues - 1, 3 * kValues - 1, 3 * kValues, 3 * kValues + 1}) {
    const auto in_memory = DecodedCache::open(ram(limit), 10, kValues, "k");
    const auto on_disk =
        DecodedCache::open(disk(folder, limit), 10, kValues, "k" + std::to_string(limit));
    for (DecodedCache* cache : {in_memory.get(), on_disk.get()}) {
      int64_t kept = 0;
      for (int64_t row = 0; row < 10; ++row) kept += put(*cache, row) ? 1 : 0;
      EXPECT_EQ(kept, limit / kValues);
      EXPECT_EQ(cache->kept_rows(), kept);
      for (int64_t row = 0; row < kept; ++row) expect_row(*cache, row);
    }
  }
}

TEST(DecodedCache, TheLimitIsInBytesOfTheType) {
  const auto cache = DecodedCache::open(ram(8 * kValues, PixelType::kFloat32), 10, kValues, "k");
  for (int64_t row = 0; row < 10; ++row) {
    if (void* place = cache->reserve(row)) {
      static_cast<float*>(place)[kValues - 1] = 1;
      cache->keep(row);
    }
  }
  EXPECT_EQ(cache->kept_rows(), 2);
}

TEST(DecodedCache, NoRows) {
  const TemporaryFolder folder;
  for (const DecodedCacheOptions& options : {ram(1 << 20), disk(folder)}) {
    for (int run = 0; run < 2; ++run) {
      const auto cache = DecodedCache::open(options, 0, kValues, "k");
      EXPECT_EQ(cache->kept_rows(), 0);
      EXPECT_THAT(cache->description(), HasSubstr("0 of 0 rows"));
    }
  }
}

TEST(DecodedCache, RowsOverSeveralBlocksOfMemory) {
  // 5 MB a row: 12 in a block of 64 MiB. Only the touched pages cost anything.
  const int64_t values = 5'000'000;
  const auto cache = DecodedCache::open(ram(30 * values), 40, values, "k");
  for (int64_t row = 39; row >= 10; --row) {
    auto* place = static_cast<uint8_t*>(cache->reserve(row));
    ASSERT_NE(place, nullptr);
    place[0] = static_cast<uint8_t>(row);
    place[values - 1] = static_cast<uint8_t>(row + 100);
    cache->keep(row);
  }
  for (int64_t row = 10; row < 40; ++row) {
    const auto* found = static_cast<const uint8_t*>(cache->find(row));
    ASSERT_NE(found, nullptr);
    EXPECT_EQ(found[0], row);
    EXPECT_EQ(found[values - 1], row + 100);
  }
  EXPECT_EQ(cache->reserve(0), nullptr);
}

TEST(DecodedCache, MemoryThatIsNotThereIsAnError) {
  const int64_t more = available_memory() / 1000 + 1'000'000'000;
  EXPECT_THAT(error_of([&] { DecodedCache::open(ram(more * 1000), more, 1000, "k"); }),
              HasSubstr("of memory, of which"));
}

TEST(DecodedCache, ImpossibleSizesAreErrors) {
  const int64_t most = std::numeric_limits<int64_t>::max();
  EXPECT_NE(error_of([&] { DecodedCache::open(ram(most), most, 1000, "k"); }), "");
  EXPECT_NE(error_of([&] { DecodedCache::open(ram(1000), 10, 0, "k"); }), "");
  EXPECT_NE(error_of([&] { DecodedCache::open(ram(1000), 10, most, "k"); }), "");
  EXPECT_NE(error_of([&] { DecodedCache::open(ram(-1), 10, 10, "k"); }), "");
}

// Every thread goes over all rows in another order, as the threads of a loader do over epochs.
void hammer(DecodedCache& cache, int64_t rows, int64_t values) {
  std::atomic<int64_t> hits{0};
  const auto work = [&](int64_t thread) {
    for (int64_t step = 0; step < 3 * rows; ++step) {
      const int64_t row = (step * (2 * thread + 1) + thread) % rows;
      if (const void* found = cache.find(row)) {
        EXPECT_TRUE(is_picture(found, row, values));
        ++hits;
      } else if (void* place = cache.reserve(row)) {
        fill_picture(place, row, values);
        if ((step + thread) % 5 == 0) {
          cache.drop(row);
        } else {
          cache.keep(row);
        }
      }
    }
  };
  std::vector<std::thread> threads;
  for (int64_t i = 0; i < 4; ++i) threads.emplace_back(work, i);
  for (std::thread& thread : threads) thread.join();
  EXPECT_GT(hits.load(), 0);
}

TEST(DecodedCacheThreads, AllRowsFit) {
  const TemporaryFolder folder;
  for (const DecodedCacheOptions& options : {ram(1 << 20), disk(folder)}) {
    const auto cache = DecodedCache::open(options, 64, kValues, "k");
    for (int round = 0; round < 20; ++round) hammer(*cache, 64, kValues);
    EXPECT_EQ(cache->kept_rows(), 64);
  }
}

TEST(DecodedCacheThreads, SomeRowsFit) {
  const TemporaryFolder folder;
  for (const DecodedCacheOptions& options : {ram(20 * kValues), disk(folder, 20 * kValues)}) {
    const auto cache = DecodedCache::open(options, 64, kValues, "k");
    for (int round = 0; round < 20; ++round) hammer(*cache, 64, kValues);
    EXPECT_EQ(cache->kept_rows(), 20);
  }
}

TEST(DecodedCacheThreads, FoundAgainByMany) {
  const TemporaryFolder folder;
  {
    hammer(*DecodedCache::open(disk(folder), 64, kValues, "k"), 64, kValues);
  }
  const auto cache = DecodedCache::open(disk(folder), 64, kValues, "k");
  for (int round = 0; round < 5; ++round) hammer(*cache, 64, kValues);
  EXPECT_EQ(cache->kept_rows(), 64);
}

TEST(DiskCache, IsFoundAgain) {
  const TemporaryFolder folder;
  {
    const auto cache = DecodedCache::open(disk(folder), 10, kValues, "k");
    for (const int64_t row : {7, 2, 9}) EXPECT_TRUE(put(*cache, row));
    ASSERT_NE(cache->reserve(4), nullptr);  // and never kept
  }
  const auto cache = DecodedCache::open(disk(folder), 10, kValues, "k");
  EXPECT_EQ(cache->kept_rows(), 3);
  for (const int64_t row : {7, 2, 9}) expect_row(*cache, row);
  EXPECT_EQ(cache->find(4), nullptr);
  for (const int64_t row : {0, 1, 3, 4, 5, 6, 8}) EXPECT_TRUE(put(*cache, row));
  for (int64_t row = 0; row < 10; ++row) expect_row(*cache, row);
  only_file(folder);
}

TEST(DiskCache, AStoredRowIsNotReservedBeforeItIsLookedFor) {
  const TemporaryFolder folder;
  {
    put(*DecodedCache::open(disk(folder), 10, kValues, "k"), 5);
  }
  const auto cache = DecodedCache::open(disk(folder), 10, kValues, "k");
  EXPECT_EQ(cache->reserve(5), nullptr);
  expect_row(*cache, 5);
}

TEST(DiskCache, ASmallerLimitKeepsWhatIsThereAndAddsNothing) {
  const TemporaryFolder folder;
  {
    const auto cache = DecodedCache::open(disk(folder, 4 * kValues), 10, kValues, "k");
    for (int64_t row = 0; row < 4; ++row) EXPECT_TRUE(put(*cache, row));
  }
  const auto cache = DecodedCache::open(disk(folder, 2 * kValues), 10, kValues, "k");
  for (int64_t row = 0; row < 4; ++row) expect_row(*cache, row);
  EXPECT_FALSE(put(*cache, 4));
}

TEST(DiskCache, OtherKeysRowsAndTypesHaveOtherFiles) {
  const TemporaryFolder folder;
  {
    put(*DecodedCache::open(disk(folder), 10, kValues, "k"), 5);
  }
  DecodedCacheOptions half = disk(folder);
  half.type = PixelType::kBfloat16;
  EXPECT_EQ(DecodedCache::open(disk(folder), 10, kValues, "other")->find(5), nullptr);
  EXPECT_EQ(DecodedCache::open(disk(folder), 11, kValues, "k")->find(5), nullptr);
  EXPECT_EQ(DecodedCache::open(disk(folder), 10, kValues / 2, "k")->find(5), nullptr);
  EXPECT_EQ(DecodedCache::open(half, 10, kValues, "k")->find(5), nullptr);
  EXPECT_EQ(folder.entries(), 5U);
  expect_row(*DecodedCache::open(disk(folder), 10, kValues, "k"), 5);
}

TEST(DiskCache, AFileOfAnotherKeyUnderTheSameNameIsMadeAnew) {
  const TemporaryFolder folder;
  {
    put(*DecodedCache::open(disk(folder), 10, kValues, "key-a"), 5);
  }
  const fs::path path = only_file(folder);
  const int64_t at = static_cast<int64_t>(read_file(path).find("key-a"));
  overwrite(path, at, "key-b");
  testing::internal::CaptureStderr();
  const auto cache = DecodedCache::open(disk(folder), 10, kValues, "key-a");
  EXPECT_THAT(testing::internal::GetCapturedStderr(), HasSubstr("made for other pictures"));
  EXPECT_EQ(cache->find(5), nullptr);
  EXPECT_TRUE(put(*cache, 5));
  expect_row(*cache, 5);
  only_file(folder);
}

TEST(DiskCache, ABrokenHeaderIsNamedAndMadeAnew) {
  struct Damage {
    const char* what;
    std::function<void(const fs::path&)> make;
  };
  const Damage damages[] = {
      {"does not begin as", [](const fs::path& path) { overwrite(path, 0, "GARBAGE!"); }},
      {"of version 9",
       [](const fs::path& path) { overwrite(path, 8, std::string("\x09\0\0\0", 4)); }},
      {"or is damaged", [](const fs::path& path) { overwrite(path, 17, "\xff"); }},
      {"cut short", [](const fs::path& path) { fs::resize_file(path, 0); }},
      {"cut short", [](const fs::path& path) { fs::resize_file(path, 30); }},
      {"cut short", [](const fs::path& path) { fs::resize_file(path, 5000); }},
  };
  for (const Damage& damage : damages) {
    const TemporaryFolder folder;
    {
      put(*DecodedCache::open(disk(folder), 10, kValues, "k"), 5);
    }
    damage.make(only_file(folder));
    testing::internal::CaptureStderr();
    const auto cache = DecodedCache::open(disk(folder), 10, kValues, "k");
    EXPECT_THAT(testing::internal::GetCapturedStderr(),
                testing::AllOf(HasSubstr("is made anew"), HasSubstr(damage.what)));
    EXPECT_EQ(cache->find(5), nullptr);
    EXPECT_TRUE(put(*cache, 5));
    only_file(folder);
  }
}

// Offsets of the layout for a short key: one page of header, one of entries.
constexpr int64_t kEntries = 4096;
constexpr int64_t kSlots = 8192;

TEST(DiskCache, ADamagedPictureIsMadeAnew) {
  const TemporaryFolder folder;
  {
    const auto cache = DecodedCache::open(disk(folder), 10, kValues, "k");
    for (int64_t row = 0; row < 3; ++row) EXPECT_TRUE(put(*cache, row));
  }
  // As after a power cut that kept the entry and lost the picture: the last byte of row 1.
  overwrite(only_file(folder), kSlots + 2 * kValues - 1, "\x01");
  const auto cache = DecodedCache::open(disk(folder), 10, kValues, "k");
  expect_row(*cache, 0);
  EXPECT_EQ(cache->kept_rows(), 3);
  EXPECT_EQ(cache->find(1), nullptr);
  EXPECT_EQ(cache->kept_rows(), 2);
  expect_row(*cache, 2);
  EXPECT_TRUE(put(*cache, 1));
  expect_row(*cache, 1);
}

TEST(DiskCache, APictureOfAnotherRowIsNotTaken) {
  const TemporaryFolder folder;
  {
    const auto cache = DecodedCache::open(disk(folder), 10, kValues, "k");
    for (int64_t row = 0; row < 2; ++row) EXPECT_TRUE(put(*cache, row));
  }
  const fs::path path = only_file(folder);
  const std::string whole = read_file(path);
  overwrite(path, kEntries, whole.substr(kEntries + 16, 16) + whole.substr(kEntries, 16));
  const auto cache = DecodedCache::open(disk(folder), 10, kValues, "k");
  EXPECT_EQ(cache->find(0), nullptr);
  EXPECT_EQ(cache->find(1), nullptr);
}

TEST(DiskCache, AnImpossibleTableOfEntriesIsSurvived) {
  const TemporaryFolder folder;
  const std::string slot_1("\2\0\0\0\0\0\0\0", 8);
  const std::string far(8, '\x7f');
  for (const std::string& slot : {slot_1, far, std::string(8, '\xff')}) {
    {
      const auto cache = DecodedCache::open(disk(folder), 10, kValues, "k");
      for (int64_t row = 0; row < 3; ++row) put(*cache, row);
    }
    overwrite(only_file(folder), kEntries + 8, slot);  // row 0: the slot of row 1, or none at all
    const auto cache = DecodedCache::open(disk(folder), 10, kValues, "k");
    EXPECT_EQ(cache->find(0), nullptr);
    for (int64_t row = 0; row < 10; ++row) {
      EXPECT_TRUE(cache->find(row) != nullptr || put(*cache, row)) << row;
      expect_row(*cache, row);
    }
  }
}

TEST(DiskCache, AFileCutInItsPicturesLosesThoseOnly) {
  const TemporaryFolder folder;
  {
    const auto cache = DecodedCache::open(disk(folder), 10, kValues, "k");
    for (int64_t row = 0; row < 10; ++row) put(*cache, row);
  }
  fs::resize_file(only_file(folder), kSlots + 4 * kValues + 10);
  const auto cache = DecodedCache::open(disk(folder), 10, kValues, "k");
  EXPECT_EQ(cache->kept_rows(), 4);
  for (int64_t row = 0; row < 4; ++row) expect_row(*cache, row);
  for (int64_t row = 4; row < 10; ++row) EXPECT_TRUE(put(*cache, row));
  for (int64_t row = 0; row < 10; ++row) expect_row(*cache, row);
}

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
  if (::mount("none", folder.path().c_str(), "tmpfs", 0, "size=1m") != 0) {
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
  ::umount(folder.path().c_str());
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
  if (::mount("none", folder.path().c_str(), "tmpfs", 0, "size=1m") != 0) {
    GTEST_SKIP() << "a file system cannot be mounted here (needs root)";
  }
  {
    put(*DecodedCache::open(disk(folder), 10, kValues, "k"), 5);
  }
  ASSERT_EQ(::mount("none", folder.path().c_str(), "tmpfs", MS_REMOUNT | MS_RDONLY, ""), 0);
  {
    testing::internal::CaptureStderr();
    const auto cache = DecodedCache::open(disk(folder), 10, kValues, "k");
    EXPECT_THAT(testing::internal::GetCapturedStderr(), HasSubstr("cannot be written"));
    expect_row(*cache, 5);
    EXPECT_EQ(cache->reserve(1), nullptr);
    EXPECT_THAT(error_of([&] { DecodedCache::open(disk(folder), 10, kValues, "other"); }),
                HasSubstr("Read-only file system"));
  }
  ::umount(folder.path().c_str());
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
  if (::mount("none", folder.path().c_str(), "tmpfs", 0, "size=4m") != 0) {
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
  ::umount(folder.path().c_str());
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
}  // namespace cantilever
