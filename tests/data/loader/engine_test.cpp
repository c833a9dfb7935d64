// What the engine does beside batches in order: caches, captions, draws, stopping, threads.

#include <dirent.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <condition_variable>
#include <map>
#include <mutex>

#include "cantilever/base/cpus.h"
#include "tests/data/loader/support.h"
#include "tests/support/temporary_folder.h"

namespace cantilever {
namespace {

using test::Copy;
using test::copy_of;
using test::loader_options;
using test::MadeSource;
using test::take;
using test::tokenizer;
using testing::HasSubstr;

std::string error_of(const std::function<void()>& work) {
  try {
    work();
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

// Threads of this process by name.
int loader_threads() {
  int found = 0;
  DIR* folder = ::opendir("/proc/self/task");
  while (const dirent* entry = ::readdir(folder)) {
    const std::string path = concat("/proc/self/task/", entry->d_name, "/comm");
    std::FILE* file = std::fopen(path.c_str(), "r");
    if (file == nullptr) continue;
    char name[32] = {};
    if (std::fgets(name, sizeof name, file) != nullptr) {
      found += std::string(name).starts_with("loader ");
    }
    std::fclose(file);
  }
  ::closedir(folder);
  return found;
}

// A thread that was joined may be listed for a moment still.
int loader_threads_after_a_while() {
  for (int i = 0; i < 100 && loader_threads() > 0; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  return loader_threads();
}

TEST(LoaderCache, EveryEpochHasTheSameBytesInAllTypesAndTiers) {
  const auto source = std::make_shared<MadeSource>(23);
  BatchLoader plain(source, tokenizer(), loader_options(0));
  const std::vector<Copy> straight = take(plain, 18);
  for (const PixelType type : {PixelType::kFloat32, PixelType::kBfloat16, PixelType::kUint8}) {
    std::vector<Copy> expected;
    for (const CacheTier tier : {CacheTier::kRam, CacheTier::kDisk}) {
      test::TemporaryFolder folder;
      for (const int workers : {0, 1, 2, 4, kAutoWorkers}) {
        // Room for some rows only, then for all.
        for (const int64_t pictures : {5, 23}) {
          LoaderOptions options = loader_options(workers);
          const auto bytes = static_cast<int64_t>(3 * 16 * 16 * pixel_bytes(type));
          options.cache = {tier, type, pictures * bytes, folder.path()};
          BatchLoader loader(source, tokenizer(), options);
          const std::vector<Copy> found = take(loader, 18);
          if (expected.empty()) expected = found;
          EXPECT_EQ(found, expected) << pixel_type_name(type) << ", " << workers << " threads, "
                                     << pictures << " pictures";
          EXPECT_GT(loader.statistics().cache_hits, 0);
        }
      }
    }
    for (size_t i = 0; i < straight.size(); ++i) {
      EXPECT_EQ(expected[i].rows, straight[i].rows);
      EXPECT_EQ(expected[i].ids, straight[i].ids);
      EXPECT_EQ(type == PixelType::kFloat32, expected[i].pixels == straight[i].pixels);
    }
  }
}

TEST(LoaderCache, ASecondEpochDoesNotTouchTheSource) {
  for (const int workers : {0, 2}) {
    for (const int captions : {1, 3}) {
      const auto source = std::make_shared<MadeSource>(20);
      source->captions = captions;
      LoaderOptions options = loader_options(workers);
      options.random_captions = captions > 1;
      options.cache = {CacheTier::kRam, PixelType::kUint8, 1 << 20, {}};
      options.end_epoch = 100;
      BatchLoader loader(source, tokenizer(), options);
      // With three captions a row, until each has been drawn, as far as chance allows.
      take(loader, captions > 1 ? 5 * 60 : 5);
      loader.pause();
      // A row that two threads make at once, for two epochs, is read by both.
      const int rows_read = source->reads;
      EXPECT_GE(rows_read, 20);
      EXPECT_LE(rows_read, 20 + 4 * workers);
      const int captions_read = source->caption_reads;
      take(loader, 15);
      EXPECT_EQ(source->reads, rows_read);
      EXPECT_EQ(source->caption_reads, captions_read);
      const LoaderStatistics done = loader.statistics();
      EXPECT_GE(done.cache_hits, 15 * 4);
      EXPECT_GE(done.caption_hits, 15 * 4);
    }
  }
}

TEST(LoaderCache, CaptionsBeyondTheirLimitAreTokenisedAgain) {
  const auto source = std::make_shared<MadeSource>(20);
  LoaderOptions options = loader_options(0);
  BatchLoader cached(source, tokenizer(), options);
  const std::vector<Copy> expected = take(cached, 15);
  EXPECT_EQ(cached.statistics().caption_hits, 40);
  for (const int64_t bytes : {0, 200}) {
    options.caption_cache_bytes = bytes;
    BatchLoader loader(source, tokenizer(), options);
    EXPECT_EQ(take(loader, 15), expected);
    const int64_t hits = loader.statistics().caption_hits;
    EXPECT_EQ(hits > 0, bytes > 0);
    EXPECT_LT(hits, 40);
  }
}

TEST(LoaderCache, ABadPictureIsBadInEveryEpochAndLeavesItsPlace) {
  const auto source = std::make_shared<MadeSource>(12);
  source->broken = {5};
  LoaderOptions options = loader_options(2);
  options.on_bad_sample = OnBadSample::kSkip;
  options.shuffle = false;
  options.cache = {CacheTier::kRam, PixelType::kUint8, 1 << 20, {}};
  options.end_epoch = 3;
  BatchLoader loader(source, tokenizer(), options);
  const std::vector<Copy> all = take(loader, 9);
  EXPECT_EQ(all[1].rows, (std::vector<int64_t>{4, 6, 6, 7}));
  EXPECT_EQ(all[4].pixels, all[1].pixels);
  EXPECT_EQ(all[7].pixels, all[1].pixels);
  EXPECT_GE(source->reads, 12);  // two threads may make a row at once
  EXPECT_LE(source->reads, 12 + 4 * options.num_workers);
  EXPECT_EQ(loader.bad_samples().size(), 1U);
  EXPECT_EQ(loader.statistics().bad_rows, 1);
}

TEST(LoaderCache, EverythingThatPixelsDependOnIsInItsKey) {
  test::TemporaryFolder folder;
  const auto source = std::make_shared<MadeSource>(8);
  LoaderOptions options = loader_options(0);
  options.cache = {CacheTier::kDisk, PixelType::kUint8, 1 << 20, folder.path()};
  const auto hits_of_an_epoch = [&](const LoaderOptions& chosen) {
    BatchLoader loader(source, tokenizer(), chosen);
    take(loader, 2);
    return loader.statistics().cache_hits;
  };
  EXPECT_EQ(hits_of_an_epoch(options), 0);
  EXPECT_EQ(hits_of_an_epoch(options), 8);
  LoaderOptions other = options;
  other.transform.mean[1] = std::nextafter(other.transform.mean[1], 1.0F);
  EXPECT_EQ(hits_of_an_epoch(other), 0);
  other = options;
  other.transform.std[2] += 1e-6F;
  EXPECT_EQ(hits_of_an_epoch(other), 0);
  other = options;
  other.transform.semantics = PixelSemantics::kTvU8;
  EXPECT_EQ(hits_of_an_epoch(other), 0);
  other = options;
  other.exif_orientation = ExifOrientation::kOn;
  EXPECT_EQ(hits_of_an_epoch(other), 0);
  other = options;
  other.transform.side = 15;
  EXPECT_EQ(hits_of_an_epoch(other), 0);
  other = options;
  other.cache.type = PixelType::kBfloat16;
  EXPECT_EQ(hits_of_an_epoch(other), 0);
  other = options;
  other.decode.max_pixels = 1000;
  EXPECT_EQ(hits_of_an_epoch(other), 0);
  source->print = 2;
  EXPECT_EQ(hits_of_an_epoch(options), 0);
  source->print = 1;
  EXPECT_EQ(hits_of_an_epoch(options), 8);
}

TEST(LoaderCache, ExcludesAugmentation) {
  const auto source = std::make_shared<MadeSource>(8);
  LoaderOptions options = loader_options(0);
  options.cache = {CacheTier::kRam, PixelType::kUint8, 1 << 20, {}};
  options.augmentation.horizontal_flip = 0.5;
  EXPECT_THAT(error_of([&] { BatchLoader(source, tokenizer(), options); }),
              HasSubstr("--decoded_cache"));
}

TEST(LoaderDraws, AugmentationDependsOnEpochAndRowAlone) {
  const auto source = std::make_shared<MadeSource>(24);
  LoaderOptions options = loader_options(0);
  options.shuffle = false;
  BatchLoader plain(source, tokenizer(), options);
  const std::vector<Copy> unchanged = take(plain, 12);
  options.augmentation.random_resized_crop = true;
  options.augmentation.horizontal_flip = 0.5;
  BatchLoader reference(source, tokenizer(), options);
  const std::vector<Copy> expected = take(reference, 12);
  EXPECT_NE(expected[0].pixels, unchanged[0].pixels);
  EXPECT_NE(expected[0].pixels, expected[6].pixels);  // the same rows, an epoch later
  for (const int workers : {1, 3}) {
    options.num_workers = workers;
    BatchLoader loader(source, tokenizer(), options);
    EXPECT_EQ(take(loader, 12), expected);
    loader.seek(1, 2);
    EXPECT_EQ(copy_of(loader.next()), expected[8]);
  }
  options.seed = 43;
  BatchLoader other(source, tokenizer(), options);
  EXPECT_NE(other.next().pixel_values, expected[0].pixels);
}

TEST(LoaderDraws, RandomCaptionsDependOnEpochAndRowAlone) {
  const auto source = std::make_shared<MadeSource>(40);
  source->captions = 5;
  LoaderOptions options = loader_options(0);
  options.shuffle = false;
  options.max_seq_length = 40;
  BatchLoader first(source, tokenizer(), options);
  EXPECT_EQ(take(first, 20)[13].ids, take(first, 10)[3].ids);  // always the first caption
  options.random_captions = true;
  BatchLoader reference(source, tokenizer(), options);
  const std::vector<Copy> expected = take(reference, 50);
  for (const int64_t bytes : {0, 300, 1 << 20}) {
    for (const int workers : {0, 3}) {
      options.caption_cache_bytes = bytes;
      options.num_workers = workers;
      BatchLoader loader(source, tokenizer(), options);
      EXPECT_EQ(take(loader, 50), expected) << bytes << " bytes, " << workers << " threads";
      loader.seek(2, 7);
      EXPECT_EQ(copy_of(loader.next()), expected[27]);
    }
  }
  // 200 draws of five captions: each comes 40 times on average, give or take 6.
  std::map<std::vector<int64_t>, int> counts;
  for (const Copy& batch : expected) {
    for (size_t i = 0; i < 4; ++i) {
      const auto row = static_cast<int>(batch.rows[i]);
      std::vector<int64_t> ids(40);
      std::vector<int64_t> mask(40);
      for (int caption = 0; caption < 5; ++caption) {
        tokenizer()->encode_into(concat("picture number ", row, ", ", caption), ids, mask);
        if (std::equal(ids.begin(), ids.end(),
                       batch.ids.begin() + static_cast<ptrdiff_t>(i * 40))) {
          ++counts[{caption}];
        }
      }
    }
  }
  ASSERT_EQ(counts.size(), 5U);
  for (const auto& [caption, count] : counts) {
    EXPECT_GT(count, 15);
    EXPECT_LT(count, 70);
  }
}

TEST(LoaderStop, NoThreadIsLeft) {
  ASSERT_EQ(loader_threads_after_a_while(), 0);
  const auto source = std::make_shared<MadeSource>(100);
  source->delay = std::chrono::milliseconds(1);
  for (int moment = 0; moment < 20; ++moment) {
    {
      BatchLoader loader(source, tokenizer(), loader_options(4));
      if (moment > 0) loader.next();
      // A thread that has just begun has no name yet.
      for (int i = 0; i < 2000 && loader_threads() < 4; ++i) {
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
      }
      EXPECT_EQ(loader_threads(), 4);
      std::this_thread::sleep_for(std::chrono::microseconds(300 * moment));
    }
    EXPECT_EQ(loader_threads_after_a_while(), 0);
  }
  EXPECT_EQ(source.use_count(), 1);
}

// A source whose reads return when they are let.
class StuckSource final : public ExampleSource {
 public:
  explicit StuckSource(std::shared_ptr<MadeSource> inner) : inner_(std::move(inner)) {}
  int64_t size() const override { return inner_->size(); }
  void read(int64_t row, uint64_t draw, Example& example) const override {
    ++waiting;
    std::unique_lock lock(mutex_);
    released_.wait(lock, [&] { return free_; });
    lock.unlock();
    inner_->read(row, draw, example);
    --waiting;
  }
  void read_caption(int64_t row, uint64_t draw, std::string& caption) const override {
    inner_->read_caption(row, draw, caption);
  }
  uint64_t fingerprint() const override { return 5; }
  std::string description() const override { return "stuck"; }
  void release() {
    const std::lock_guard lock(mutex_);
    free_ = true;
    released_.notify_all();
  }
  mutable std::atomic<int> waiting{0};

 private:
  std::shared_ptr<MadeSource> inner_;
  mutable std::mutex mutex_;
  mutable std::condition_variable released_;
  bool free_ = false;
};

TEST(LoaderStop, AReadThatDoesNotReturnHoldsNobodyUp) {
  const auto source = std::make_shared<StuckSource>(std::make_shared<MadeSource>(40));
  auto loader = std::make_unique<BatchLoader>(source, tokenizer(), loader_options(3));
  loader->seek(0, 0);
  while (source->waiting < 3) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  const auto begin = std::chrono::steady_clock::now();
  loader.reset();
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(1));
  EXPECT_GT(source.use_count(), 1);  // what the threads need lives
  source->release();
  EXPECT_EQ(loader_threads_after_a_while(), 0);
  for (int i = 0; i < 400 && source.use_count() > 1; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  EXPECT_EQ(source.use_count(), 1);
}

// Nobody but the threads that were left behind knows the source, the tokenizer and the caches.
TEST(LoaderStop, ThreadsLeftBehindFindAllTheyNeed) {
  for (const CacheTier tier : {CacheTier::kOff, CacheTier::kRam, CacheTier::kDisk}) {
    for (const bool device : {false, true}) {
      if (device && tier != CacheTier::kOff) continue;
      auto source = std::make_shared<StuckSource>(std::make_shared<MadeSource>(40));
      std::shared_ptr<const Tokenizer> words = test::make_tokenizer();
      const std::weak_ptr<StuckSource> source_alive = source;
      const std::weak_ptr<const Tokenizer> words_alive = words;
      {
        test::TemporaryFolder folder;
        LoaderOptions options = loader_options(3);
        options.device_decode = device;
        options.on_bad_sample = OnBadSample::kSkip;
        options.cache = {tier, PixelType::kUint8, 1 << 20, folder.path()};
        BatchLoader loader(source, words, options);
        loader.seek(0, 0);
        while (source->waiting < 3) std::this_thread::sleep_for(std::chrono::milliseconds(1));
      }
      StuckSource* stuck = source.get();
      source.reset();
      words.reset();
      ASSERT_FALSE(source_alive.expired());
      ASSERT_FALSE(words_alive.expired());
      stuck->release();
      for (int i = 0; i < 2000 && !(source_alive.expired() && words_alive.expired()); ++i) {
        std::this_thread::sleep_for(std::chrono::milliseconds(5));
      }
      EXPECT_TRUE(source_alive.expired());
      EXPECT_TRUE(words_alive.expired());
      EXPECT_EQ(loader_threads_after_a_while(), 0);
    }
  }
}

TEST(LoaderPause, GoesOnWhereItWas) {
  const auto source = std::make_shared<MadeSource>(23);
  BatchLoader straight(source, tokenizer(), loader_options(0));
  const std::vector<Copy> all = take(straight, 12);
  for (const int workers : {0, 2}) {
    BatchLoader loader(source, tokenizer(), loader_options(workers));
    loader.pause();
    std::vector<Copy> found;
    for (int i = 0; i < 12; ++i) {
      found.push_back(copy_of(loader.next()));
      if (i % 3 == 1) loader.pause();
      if (i == 7) {
        const int reads = source->reads;
        std::this_thread::sleep_for(std::chrono::milliseconds(20));
        EXPECT_EQ(source->reads, reads);
      }
    }
    EXPECT_EQ(found, all);
  }
}

TEST(LoaderEnd, NothingIsMadeBehindTheLastEpoch) {
  for (const int workers : {0, 3}) {
    const auto source = std::make_shared<MadeSource>(10);
    LoaderOptions options = loader_options(workers);
    options.end_epoch = 2;
    options.prefetch = 5;
    BatchLoader loader(source, tokenizer(), options);
    take(loader, 6);
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    EXPECT_EQ(source->reads, 20);
    EXPECT_THROW(loader.next(), InternalError);
    loader.seek(1, 0);
    take(loader, 3);
  }
}

TEST(LoaderWithoutText, HoldsPicturesOnly) {
  const auto source = std::make_shared<MadeSource>(10);
  BatchLoader with(source, tokenizer(), loader_options(2));
  BatchLoader without(source, nullptr, loader_options(2));
  const Batch& batch = without.next();
  EXPECT_EQ(batch.text_length, 0);
  EXPECT_TRUE(batch.input_ids.empty());
  EXPECT_EQ(batch.pixel_values, with.next().pixel_values);
}

TEST(LoaderAuto, GivesTheSameBytesWithinTheCpus) {
  const auto source = std::make_shared<MadeSource>(40);
  BatchLoader reference(source, tokenizer(), loader_options(0));
  const std::vector<Copy> expected = take(reference, 40);
  source->delay = std::chrono::milliseconds(1);
  BatchLoader loader(source, tokenizer(), loader_options(kAutoWorkers));
  EXPECT_EQ(take(loader, 40), expected);
  EXPECT_GE(loader.statistics().threads, 1);
  EXPECT_LE(loader.statistics().threads, allowed_cpus());
}

// Reads that sleep are done by more threads at once, whatever else the CPUs do.
TEST(LoaderAuto, AddsThreadsWhenTheConsumerWaits) {
  if (allowed_cpus() < 2) GTEST_SKIP() << "one CPU";
  const auto source = std::make_shared<MadeSource>(4000);
  source->delay = std::chrono::milliseconds(4);
  LoaderOptions options = loader_options(kAutoWorkers);
  BatchLoader loader(source, tokenizer(), options);
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  loader.next();
  const int first = loader.statistics().threads;
  while (loader.statistics().threads <= std::min(first, allowed_cpus() - 1) &&
         std::chrono::steady_clock::now() < end) {
    loader.next();
  }
  EXPECT_GT(loader.statistics().threads, std::min(first, allowed_cpus() - 1));
}

TEST(LoaderStatistics, CountWhatWasDone) {
  const auto source = std::make_shared<MadeSource>(16);
  source->delay = std::chrono::milliseconds(2);
  for (const int workers : {0, 2}) {
    BatchLoader loader(source, tokenizer(), loader_options(workers));
    EXPECT_EQ(loader.statistics().seconds, 0.0);
    take(loader, 6);
    const LoaderStatistics done = loader.statistics();
    EXPECT_EQ(done.images, 24);
    EXPECT_EQ(done.batches, 6);
    EXPECT_EQ(done.threads, workers);
    EXPECT_GE(done.read_seconds, 24 * 0.002);
    EXPECT_GT(done.decode_seconds + done.transform_seconds, 0.0);
    EXPECT_GT(done.tokenize_seconds, 0.0);
    EXPECT_EQ(done.slowest_stage(), "read");
    EXPECT_GT(done.seconds, 0.0);
    EXPECT_GE(done.seconds, done.wait_seconds);
    EXPECT_GT(done.wait_share(), 0.5);  // this consumer does nothing else
    EXPECT_LE(done.wait_share(), 1.0);
  }
}

}  // namespace
}  // namespace cantilever
