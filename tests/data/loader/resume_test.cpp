// State is a position: a loader process that is killed at random moments and started again behind
// the last delivered batch gives the bytes of one run.

#include <gtest/gtest.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <random>
#include <sstream>
#include <thread>

#include "cantilever/base/error.h"
#include "tests/support/temporary_folder.h"

namespace cantilever {
namespace {

constexpr int kBatches = 80;  // five epochs of 16

// What is said of a batch, and the bad rows that its process had met by then.
struct Record {
  int64_t epoch = 0;
  int64_t index = 0;
  std::string batch;
  std::vector<int64_t> bad;
};

std::vector<Record> read_records(const std::filesystem::path& path) {
  std::ifstream file(path);
  std::vector<Record> records;
  for (std::string line; std::getline(file, line);) {
    if (file.eof()) break;  // cut by the kill: that batch was not delivered
    Record& record = records.emplace_back();
    const size_t bad = line.find(" bad");
    record.batch = line.substr(0, bad);
    std::istringstream(record.batch) >> record.epoch >> record.index;
    std::istringstream rows(line.substr(bad + 4));
    for (int64_t row = 0; rows >> row;) record.bad.push_back(row);
  }
  return records;
}

pid_t start(const std::filesystem::path& file, int64_t epoch, int64_t index, int64_t batches,
            int workers, const std::string& cache) {
  std::vector<std::string> words = {CANTILEVER_LOADER_STREAM,
                                    file.string(),
                                    std::to_string(epoch),
                                    std::to_string(index),
                                    std::to_string(batches),
                                    std::to_string(workers),
                                    cache};
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  pid_t child = 0;
  EXPECT_EQ(::posix_spawn(&child, words[0].c_str(), nullptr, nullptr, arguments.data(), environ),
            0);
  return child;
}

int wait_for(pid_t child) {
  int status = 0;
  EXPECT_EQ(::waitpid(child, &status, 0), child);
  return status;
}

struct Delivered {
  std::vector<std::string> batches;
  std::vector<int64_t> bad;  // in order, each once
};

void add(const std::vector<Record>& records, Delivered& all) {
  for (const Record& record : records) {
    all.batches.push_back(record.batch);
    for (const int64_t row : record.bad) {
      if (std::find(all.bad.begin(), all.bad.end(), row) == all.bad.end()) all.bad.push_back(row);
    }
  }
}

Delivered deliver_at_once(const std::filesystem::path& file, const std::string& cache) {
  Delivered all;
  EXPECT_EQ(wait_for(start(file, 0, 0, kBatches, 0, cache)), 0);
  add(read_records(file), all);
  return all;
}

// Killed `kills` times, each time after some batches and a random moment more.
Delivered deliver_with_kills(const test::TemporaryFolder& folder, int kills, int workers,
                             const std::string& cache, std::mt19937& random) {
  Delivered all;
  int64_t epoch = 0;
  int64_t index = 0;
  for (int run = 0; run <= kills; ++run) {
    const std::filesystem::path file = folder / std::to_string(run);
    // A process that is to be killed never comes to an end by itself.
    const auto delivered = static_cast<int64_t>(all.batches.size());
    const int64_t left = run < kills ? 1'000'000 : std::max<int64_t>(0, kBatches - delivered);
    const pid_t child = start(file, epoch, index, left, workers, cache);
    if (run < kills) {
      const size_t some = random() % 12;
      while (read_records(file).size() < some) {
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
      }
      std::this_thread::sleep_for(std::chrono::microseconds(random() % 20000));
      EXPECT_EQ(::kill(child, SIGKILL), 0);
      EXPECT_TRUE(WIFSIGNALED(wait_for(child)));
    } else {
      EXPECT_EQ(wait_for(child), 0);
    }
    const std::vector<Record> records = read_records(file);
    add(records, all);
    if (!records.empty()) {
      epoch = records.back().epoch;
      index = records.back().index + 1;
    }
  }
  EXPECT_GE(all.batches.size(), static_cast<size_t>(kBatches));
  all.batches.resize(kBatches);  // a slow parent kills late
  return all;
}

TEST(LoaderResume, FiveKillsChangeNothing) {
  const unsigned seed = std::random_device{}();
  SCOPED_TRACE(concat("seed ", seed));
  std::mt19937 random(seed);
  for (const bool cached : {false, true}) {
    test::TemporaryFolder straight;
    const Delivered expected =
        deliver_at_once(straight / "records", cached ? straight.path().string() : "-");
    ASSERT_EQ(expected.batches.size(), static_cast<size_t>(kBatches));
    EXPECT_EQ(expected.bad.size(), 8U);
    for (const int workers : {0, 3}) {
      test::TemporaryFolder folder;
      const Delivered found =
          deliver_with_kills(folder, 5, workers, cached ? folder.path().string() : "-", random);
      EXPECT_EQ(found.batches, expected.batches) << workers << " threads, cached " << cached;
      EXPECT_EQ(found.bad, expected.bad) << workers << " threads, cached " << cached;
    }
  }
}

}  // namespace
}  // namespace cantilever
