// The loader over the wider corpus: real pictures and captions.

#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <fstream>

#include "cantilever/base/error.h"
#include "cantilever/base/log.h"
#include "cantilever/data/loader/batch_loader.h"
#include "cantilever/data/source/open_source.h"
#include "cantilever/data/text/bpe_trainer.h"
#include "tests/support/temporary_folder.h"

namespace cantilever {
namespace {

class LoaderCorpus : public testing::Test {
 protected:
  void SetUp() override {
    const char* corpus = std::getenv("CANTILEVER_CORPUS");
    if (corpus == nullptr) GTEST_SKIP() << "CANTILEVER_CORPUS is not set";
    folder_ = corpus;
    int given = 0;
    tokenizer_ = train_tokenizer(
        [&]() -> std::optional<std::string> {
          return given++ == 0 ? std::optional<std::string>("a picture") : std::nullopt;
        },
        262);
    options_.batch_size = 16;
    options_.max_seq_length = 32;
    options_.transform.side = 32;
    options_.transform.semantics = PixelSemantics::kReference;
  }

  std::filesystem::path folder_;
  std::shared_ptr<const Tokenizer> tokenizer_;
  LoaderOptions options_;
};

TEST_F(LoaderCorpus, ThreadsChangeNothing) {
  SourceOptions source;
  const auto rows = open_source(folder_ / "captions/captions.jsonl", source);
  BatchLoader alone(rows, tokenizer_, options_);
  options_.num_workers = 3;
  BatchLoader team(rows, tokenizer_, options_);
  for (int i = 0; i < 12; ++i) {
    const Batch& a = alone.next();
    const Batch& b = team.next();
    EXPECT_EQ(a.rows, b.rows);
    EXPECT_EQ(a.input_ids, b.input_ids);
    EXPECT_EQ(a.attention_mask, b.attention_mask);
    EXPECT_EQ(a.pixel_values, b.pixel_values);
  }
}

// Under the reference's rules only what `datasets` decodes itself is turned upright.
TEST_F(LoaderCorpus, ExifOrientationFollowsTheKindOfPicture) {
  test::TemporaryFolder set;
  std::filesystem::copy_file(folder_ / "odd-images/files/hopper_orientation_3.jpg", set / "p.jpg");
  std::ofstream(set / "metadata.csv") << "file_name,caption\np.jpg,a picture\n";
  std::ofstream(set / "rows.csv") << "image,caption\np.jpg,a picture\n";
  SourceOptions source;
  source.image_column = "image";
  options_.transform.semantics = PixelSemantics::kTvFloatAa;
  const auto pixels = [&](const std::filesystem::path& path, ExifOrientation orientation) {
    options_.exif_orientation = orientation;
    BatchLoader loader(open_source(path, source), tokenizer_, options_);
    return loader.next().pixel_values;
  };
  const auto upright = pixels(set / "rows.csv", ExifOrientation::kOn);
  const auto stored = pixels(set / "rows.csv", ExifOrientation::kOff);
  EXPECT_NE(upright, stored);
  EXPECT_EQ(pixels(set / "rows.csv", ExifOrientation::kAuto), stored);
  EXPECT_EQ(pixels(set.path(), ExifOrientation::kAuto), upright);
  EXPECT_EQ(pixels(set.path(), ExifOrientation::kOff), stored);
}

TEST_F(LoaderCorpus, NullRowsAreSkippedAndListed) {
  SourceOptions source;
  source.image_column = "image";
  const auto rows = open_source(folder_ / "datasets/made/nulls_gzip.parquet", source);
  options_.batch_size = 64;
  options_.shuffle = false;
  options_.on_bad_sample = OnBadSample::kSkip;
  BatchLoader loader(rows, tokenizer_, options_);
  const Batch& batch = loader.next();
  EXPECT_EQ(batch.size, 64);
  EXPECT_EQ(loader.bad_samples().size(), 22U);  // 42 of 64 rows have a picture and a caption
  for (const float value : batch.pixel_values) ASSERT_TRUE(std::isfinite(value));
}

}  // namespace
}  // namespace cantilever
