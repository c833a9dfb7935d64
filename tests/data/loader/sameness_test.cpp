// The same rows, bytes and bad rows whatever way the loader works: odd sizes, rows that cannot be
// used, captions that are missing, through caches and a device, by any number of threads.

#include <gtest/gtest.h>

#include <functional>

#include "tests/data/image/encoders.h"
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

using BadRows = std::vector<std::pair<int64_t, std::string>>;

BadRows bad_rows(const BatchLoader& loader) {
  BadRows found;
  for (const BadSample& bad : loader.bad_samples()) found.emplace_back(bad.row, bad.reason);
  return found;
}

// The rows of a MadeSource; every other picture is a JPEG, which a device takes.
class MixedSource final : public ExampleSource {
 public:
  explicit MixedSource(int64_t rows) : made(rows) {
    for (int64_t row = 0; row < rows; ++row) {
      const int width = 18 + static_cast<int>(row % 5);
      std::vector<uint8_t> samples(static_cast<size_t>(3 * width * 17));
      for (size_t i = 0; i < samples.size(); ++i) {
        samples[i] = static_cast<uint8_t>(i * 5 + static_cast<size_t>(row) * 41);
      }
      jpegs_.push_back(test::encode_jpeg(samples, width, 17));
    }
  }
  int64_t size() const override { return made.size(); }
  void read(int64_t row, uint64_t draw, Example& example) const override {
    made.read(row, draw, example);
    if (row % 2 == 0) return;
    example.encoded = jpegs_[static_cast<size_t>(row)];
    // Cut in its data: the device tries and fails.
    if (made.broken.contains(row)) example.encoded = example.encoded.first(650);
  }
  void read_caption(int64_t row, uint64_t draw, std::string& caption) const override {
    made.read_caption(row, draw, caption);
  }
  int64_t caption_count(int64_t row) const override { return made.caption_count(row); }
  uint64_t fingerprint() const override { return 7; }
  std::string description() const override { return "mixed"; }

  MadeSource made;

 private:
  std::vector<std::vector<std::byte>> jpegs_;
};

struct Way {
  std::string name;
  std::function<void(LoaderOptions&)> set;
};

// Ways whose pixels are those of a loader without cache and device, bit for bit.
std::vector<Way> ways(const test::TemporaryFolder& folder) {
  const auto cache = [&folder](CacheTier tier, int64_t limit) {
    return [&folder, tier, limit](LoaderOptions& options) {
      options.cache = {tier, PixelType::kFloat32, limit, folder.path()};
    };
  };
  return {{"plain", [](LoaderOptions&) {}},
          {"memory", cache(CacheTier::kRam, 1 << 20)},
          {"little memory", cache(CacheTier::kRam, 3 * 3 * 16 * 16 * 4)},
          {"disk, empty", cache(CacheTier::kDisk, 1 << 20)},
          {"disk, filled", cache(CacheTier::kDisk, 1 << 20)},
          {"device", [](LoaderOptions& options) { options.device_decode = true; }},
          {"no caption cache", [](LoaderOptions& options) { options.caption_cache_bytes = 0; }}};
}

TEST(LoaderSameness, OddSizesOverThreeEpochs) {
  for (const int64_t rows : {1, 2, 7}) {
    const auto source = std::make_shared<MixedSource>(rows);
    for (const int64_t batch : {1, 2, 3, 7, 100}) {
      for (const bool drop_last : {false, true}) {
        LoaderOptions options = loader_options(0);
        options.batch_size = batch;
        options.drop_last = drop_last;
        if (drop_last && batch > rows) {
          BatchLoader loader(source, tokenizer(), options);
          EXPECT_THROW(loader.next(), Error);
          continue;
        }
        BatchLoader reference(source, tokenizer(), options);
        const auto batches = static_cast<int>(reference.batches_per_epoch());
        const std::vector<Copy> expected = take(reference, 3 * batches);
        const int64_t last = expected[static_cast<size_t>(batches) - 1].size;
        EXPECT_EQ(last, drop_last || rows % batch == 0 ? batch : rows % batch);
        test::TemporaryFolder folder;
        for (const Way& way : ways(folder)) {
          for (const int workers : {0, 1, 3}) {
            LoaderOptions other = options;
            way.set(other);
            other.num_workers = workers;
            BatchLoader loader(source, tokenizer(), other);
            EXPECT_EQ(take(loader, 3 * batches), expected)
                << rows << " rows by " << batch << ", " << way.name << ", " << workers;
            loader.seek(2, batches - 1);
            EXPECT_EQ(copy_of(loader.next()), expected.back());
          }
        }
      }
    }
  }
}

TEST(LoaderSameness, BadRowsInEveryWay) {
  const auto source = std::make_shared<MixedSource>(23);
  source->made.broken = {0, 4, 5, 6, 22};
  source->made.missing = {7, 21};
  for (const bool shuffle : {false, true}) {
    LoaderOptions options = loader_options(0);
    options.on_bad_sample = OnBadSample::kSkip;
    options.shuffle = shuffle;
    BatchLoader reference(source, tokenizer(), options);
    const std::vector<Copy> expected = take(reference, 18);
    const BadRows bad = bad_rows(reference);
    EXPECT_EQ(bad.size(), 7U);
    for (const auto& [row, reason] : bad) EXPECT_NE(reason, "") << row;
    test::TemporaryFolder folder;
    for (const Way& way : ways(folder)) {
      for (const int workers : {0, 1, 2, 4}) {
        LoaderOptions other = options;
        way.set(other);
        other.num_workers = workers;
        BatchLoader loader(source, tokenizer(), other);
        EXPECT_EQ(take(loader, 18), expected) << way.name << ", " << workers << " threads";
        EXPECT_EQ(bad_rows(loader), bad) << way.name << ", " << workers << " threads";
        const LoaderStatistics done = loader.statistics();
        EXPECT_EQ(done.device_images > 0, other.device_decode);
        EXPECT_EQ(done.device_failed > 0, other.device_decode);
      }
    }
  }
}

// A row that lacks one of its captions is bad in the epochs that draw it, and only in those: what
// an epoch holds must not depend on the epochs that were seen before it.
TEST(LoaderSameness, ARowThatLacksACaptionIsBadWhereItIsDrawn) {
  const auto source = std::make_shared<MixedSource>(12);
  source->made.captions = 3;
  source->made.silent = {{2, 1}, {5, 0}, {5, 2}, {11, 2}};
  LoaderOptions options = loader_options(0);
  options.on_bad_sample = OnBadSample::kSkip;
  options.random_captions = true;
  options.shuffle = false;
  BatchLoader reference(source, tokenizer(), options);
  const std::vector<Copy> expected = take(reference, 36);
  const BadRows bad = bad_rows(reference);
  EXPECT_EQ(bad.size(), 3U);
  int used = 0;
  int passed = 0;
  for (const Copy& batch : expected) {
    if (batch.index != 0) continue;
    ++(batch.rows[2] == 2 ? used : passed);
  }
  EXPECT_GT(used, 0);
  EXPECT_GT(passed, 0);
  for (const int64_t epoch : {1, 4, 9}) {
    BatchLoader resumed(source, tokenizer(), options);
    resumed.seek(epoch, 0);
    const auto first = static_cast<size_t>(3 * epoch);
    for (size_t i = first; i < expected.size(); ++i) {
      EXPECT_EQ(copy_of(resumed.next()), expected[i]) << "resumed at " << epoch << ", batch " << i;
    }
  }
  test::TemporaryFolder folder;
  for (const Way& way : ways(folder)) {
    for (const int workers : {0, 1, 4}) {
      LoaderOptions other = options;
      way.set(other);
      other.num_workers = workers;
      BatchLoader loader(source, tokenizer(), other);
      EXPECT_EQ(take(loader, 36), expected) << way.name << ", " << workers << " threads";
      EXPECT_EQ(bad_rows(loader), bad) << way.name << ", " << workers << " threads";
    }
  }
}

}  // namespace
}  // namespace cantilever
