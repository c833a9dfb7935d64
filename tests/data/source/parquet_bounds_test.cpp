// What large files cost: memory stays bounded, row groups beyond 2 GiB are read.

#include <arrow/memory_pool.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <random>
#include <thread>

#include "cantilever/base/error.h"
#include "tests/data/source/mapped_files.h"
#include "tests/data/source/parquet_files.h"
#include "tests/data/source/table_files.h"

namespace cantilever {
namespace {

using test::require;

constexpr int kKinds = 8;

struct Shape {
  int rows = 0;
  int64_t picture_bytes = 0;
  int64_t rows_a_page = 1;
  int64_t rows_a_group = INT64_MAX;
  arrow::Compression::type codec = arrow::Compression::SNAPPY;
};

// Row r has a picture of the character 'a' + r % kKinds. The arrays are shared, so that writing
// takes little memory whatever the size.
void write_large(const std::filesystem::path& path, const Shape& shape) {
  std::vector<std::shared_ptr<arrow::Array>> kinds;
  for (int kind = 0; kind < kKinds; ++kind) {
    const std::string picture(static_cast<size_t>(shape.picture_bytes),
                              static_cast<char>('a' + kind));
    kinds.push_back(test::picture_structs({picture}, {"p"}));
  }
  arrow::ArrayVector pictures, captions;
  test::Texts texts;
  for (int row = 0; row < shape.rows; ++row) {
    pictures.push_back(kinds[static_cast<size_t>(row % kKinds)]);
    texts.emplace_back(concat("caption ", row));
  }
  const auto table =
      arrow::Table::Make(arrow::schema({arrow::field("image", kinds[0]->type()),
                                        arrow::field("caption", arrow::utf8())}),
                         {std::make_shared<arrow::ChunkedArray>(pictures),
                          std::make_shared<arrow::ChunkedArray>(test::strings(texts))});
  parquet::WriterProperties::Builder writer;
  writer.compression(shape.codec)->disable_dictionary();
  if (shape.codec == arrow::Compression::ZSTD) writer.compression_level(1);
  writer.write_batch_size(shape.rows_a_page);
  writer.data_pagesize(shape.rows_a_page * shape.picture_bytes);
  const auto file = arrow::io::FileOutputStream::Open(path.string()).ValueOrDie();
  require(parquet::arrow::WriteTable(*table, arrow::default_memory_pool(), file,
                                     std::min<int64_t>(shape.rows_a_group, shape.rows),
                                     writer.build()));
  require(file->Close());
  arrow::default_memory_pool()->ReleaseUnused();
}

bool is_right(const ExampleSource& source, int64_t row, int64_t picture_bytes, Example& example) {
  source.read(row, 0, example);
  const auto wanted = static_cast<std::byte>('a' + row % kKinds);
  return example.caption == concat("caption ", row) &&
         example.encoded.size() == static_cast<size_t>(picture_bytes) &&
         example.encoded.front() == wanted && example.encoded.back() == wanted;
}

// Reads random rows with several threads; the most anonymous memory that was seen meanwhile.
int64_t peak_of_random_access(const ExampleSource& source, const Shape& shape, int threads,
                              int reads) {
  std::atomic<int64_t> peak{0};
  std::atomic<int> right{0};
  std::vector<std::thread> team;
  for (int t = 0; t < threads; ++t) {
    team.emplace_back([&, t] {
      std::mt19937_64 random(static_cast<uint64_t>(t) + 1);
      Example example;
      for (int i = 0; i < reads; ++i) {
        const auto row = static_cast<int64_t>(random() % static_cast<uint64_t>(source.size()));
        right += is_right(source, row, shape.picture_bytes, example) ? 1 : 0;
        int64_t seen = peak;
        const int64_t now = test::anonymous_bytes();
        while (now > seen && !peak.compare_exchange_weak(seen, now)) {
        }
      }
    });
  }
  for (std::thread& thread : team) thread.join();
  EXPECT_EQ(right, threads * reads);
  return peak;
}

class ParquetBounds : public testing::Test {
 protected:
  std::shared_ptr<ExampleSource> open() {
    return open_source(path_, test::source_options("image"));
  }
  static bool sanitized() {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    return true;
#else
    return false;
#endif
  }

  test::TemporaryFolder folder_;
  const std::filesystem::path path_ = folder_ / "large.parquet";
};

constexpr int64_t kMiB = int64_t{1} << 20;

// One row group of 320 MB: no more of it is kept than the page cache allows.
TEST_F(ParquetBounds, ARowGroupIsNotKept) {
  if (sanitized()) GTEST_SKIP() << "a sanitizer's own memory would be counted";
  const Shape shape{320, kMiB};
  write_large(path_, shape);
  const auto source = open();
  const int64_t before = test::anonymous_bytes();
  ASSERT_GT(before, 0);
  EXPECT_LT(peak_of_random_access(*source, shape, 3, 400) - before, 120 * kMiB);
}

// Pages of 96 MB, as some writers make them: four threads do not hold four of them.
TEST_F(ParquetBounds, LargePagesAreNotHeldByEveryThread) {
  if (sanitized()) GTEST_SKIP() << "a sanitizer's own memory would be counted";
  const Shape shape{6 * 96, kMiB, 96};
  write_large(path_, shape);
  const auto source = open();
  EXPECT_LT(peak_of_random_access(*source, shape, 4, 6), 300 * kMiB);
}

TEST_F(ParquetBounds, PlainPagesTakeNoMemory) {
  if (sanitized()) GTEST_SKIP() << "a sanitizer's own memory would be counted";
  const Shape shape{160, kMiB, 4, 40, arrow::Compression::UNCOMPRESSED};
  write_large(path_, shape);
  const auto source = open();
  const int64_t before = test::anonymous_bytes();
  EXPECT_LT(peak_of_random_access(*source, shape, 2, 400) - before, 4 * kMiB);
}

// More bytes of pictures in one row group than 32-bit offsets reach.
TEST_F(ParquetBounds, ARowGroupBeyondTwoGiB) {
  if (sanitized()) GTEST_SKIP() << "2.2 GiB take half a minute to write under a sanitizer";
  const Shape shape{2200, kMiB, 1, 2200, arrow::Compression::ZSTD};
  write_large(path_, shape);
  const auto source = open();
  ASSERT_EQ(source->size(), 2200);
  Example example;
  for (const int64_t row : {2199, 0, 2047, 2048, 2049, 1100, 2198}) {
    EXPECT_TRUE(is_right(*source, row, shape.picture_bytes, example)) << row;
  }
}

}  // namespace
}  // namespace cantilever
