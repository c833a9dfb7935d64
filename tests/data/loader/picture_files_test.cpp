// Pictures in files of their own behind a cache on disk: a file that is replaced is seen.

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "tests/data/loader/support.h"
#include "tests/support/temporary_folder.h"

namespace cantilever {
namespace {

using test::loader_options;
using test::take;
using test::tokenizer;

constexpr int64_t kRows = 8;

// Row r is the file r.png. The fingerprint is that of a table which stays as it is.
class FileRows final : public ExampleSource {
 public:
  explicit FileRows(const std::filesystem::path& folder) : folder_(folder) {}
  int64_t size() const override { return kRows; }
  void read(int64_t row, uint64_t draw, Example& example) const override {
    read_caption(row, draw, example.caption);
    example.row = row;
    example.image_kind = ImageKind::kPath;
    example.file.map(path(row));
    example.image_path = path(row).string();
    example.encoded = example.file.bytes();
  }
  void read_caption(int64_t row, uint64_t, std::string& caption) const override {
    caption = concat("picture number ", row);
  }
  uint64_t fingerprint() const override { return 3; }
  std::string description() const override { return "files"; }

  std::filesystem::path path(int64_t row) const { return folder_ / concat(row, ".png"); }
  // `shade`: of all its samples, so that files of one size differ.
  void write(int64_t row, uint8_t shade) const {
    const std::vector<uint8_t> samples(20 * 20 * 3, shade);
    const std::vector<std::byte> bytes = encode_png({samples.data(), 20, 20});
    std::ofstream out(path(row), std::ios::binary | std::ios::trunc);
    out.write(reinterpret_cast<const char*>(bytes.data()), std::ssize(bytes));
  }

 private:
  std::filesystem::path folder_;
};

class CachedFiles : public testing::Test {
 protected:
  CachedFiles() : source_(std::make_shared<FileRows>(pictures_.path())) {
    for (int64_t row = 0; row < kRows; ++row) source_->write(row, static_cast<uint8_t>(10 * row));
    options_.shuffle = false;
    options_.end_epoch = 1;
    options_.cache = {CacheTier::kDisk, PixelType::kFloat32, 1 << 20, folder_.path()};
  }

  // One epoch through the cache has the pixels of one without; returns its hits.
  int64_t hits_of_an_epoch() const {
    BatchLoader cached(source_, tokenizer(), options_);
    LoaderOptions plain = options_;
    plain.cache = {};
    BatchLoader fresh(source_, tokenizer(), plain);
    EXPECT_EQ(take(cached, 2), take(fresh, 2));
    return cached.statistics().cache_hits;
  }

  test::TemporaryFolder pictures_;
  test::TemporaryFolder folder_;
  std::shared_ptr<FileRows> source_;
  LoaderOptions options_ = loader_options(0);
};

TEST_F(CachedFiles, AreKeptWhileTheyStayAsTheyAre) {
  EXPECT_EQ(hits_of_an_epoch(), 0);
  EXPECT_EQ(hits_of_an_epoch(), kRows);
  options_.num_workers = 3;
  EXPECT_EQ(hits_of_an_epoch(), kRows);
}

TEST_F(CachedFiles, AReplacedOneIsMadeAnew) {
  hits_of_an_epoch();
  const auto size = std::filesystem::file_size(source_->path(3));
  const auto time = std::filesystem::last_write_time(source_->path(3));
  source_->write(3, 200);
  ASSERT_EQ(std::filesystem::file_size(source_->path(3)), size);
  // A clock of a file system may be coarse.
  std::filesystem::last_write_time(source_->path(3), time + std::chrono::seconds(1));
  EXPECT_EQ(hits_of_an_epoch(), kRows - 1);
  // Its old place is free from the next run on.
  EXPECT_EQ(hits_of_an_epoch(), kRows - 1);
  EXPECT_EQ(hits_of_an_epoch(), kRows);
}

TEST_F(CachedFiles, ARunThatSharesTheCacheForReadingSeesItToo) {
  hits_of_an_epoch();
  LoaderOptions writing = options_;
  BatchLoader writer(source_, tokenizer(), writing);
  source_->write(3, 200);
  std::filesystem::resize_file(source_->path(3), std::filesystem::file_size(source_->path(3)) + 1);
  EXPECT_EQ(hits_of_an_epoch(), kRows - 1);
}

TEST_F(CachedFiles, OneThatIsGoneIsAnErrorAsWithoutACache) {
  hits_of_an_epoch();
  std::filesystem::remove(source_->path(5));
  BatchLoader loader(source_, tokenizer(), options_);
  loader.next();
  EXPECT_THROW(loader.next(), Error);
}

}  // namespace
}  // namespace cantilever
