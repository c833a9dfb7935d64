#include "cantilever/data/loader/batch_loader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <thread>

#include "cantilever/base/error.h"
#include "tests/data/loader/support.h"

namespace cantilever {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

using test::Copy;
using test::copy_of;
using test::loader_options;
using test::MadeSource;
using test::take;
using test::tokenizer;

TEST(BatchLoader, BatchesHoldTheRowsOfTheOrder) {
  const auto source = std::make_shared<MadeSource>(10);
  BatchLoader loader(source, tokenizer(), loader_options(0));
  EXPECT_EQ(loader.batches_per_epoch(), 3);
  const SampleOrder order(10, 4, 42, true, false);
  for (int64_t epoch = 0; epoch < 2; ++epoch) {
    for (int64_t index = 0; index < 3; ++index) {
      const Batch& batch = loader.next();
      EXPECT_EQ(batch.epoch, epoch);
      EXPECT_EQ(batch.index, index);
      EXPECT_EQ(batch.size, index == 2 ? 2 : 4);
      EXPECT_EQ(batch.rows, order.batch(epoch, index));
      EXPECT_EQ(batch.pixel_values.size(), static_cast<size_t>(batch.size * 3 * 16 * 16));
      EXPECT_EQ(batch.input_ids.size(), static_cast<size_t>(batch.size * 12));
    }
  }
}

TEST(BatchLoader, ASampleIsDecodedTransformedAndTokenised) {
  const auto source = std::make_shared<MadeSource>(5);
  LoaderOptions options = loader_options(0);
  options.shuffle = false;
  BatchLoader loader(source, tokenizer(), options);
  const Batch& batch = loader.next();
  TransformScratch scratch;
  std::vector<float> pixels(3 * 16 * 16);
  std::vector<int64_t> ids(12);
  std::vector<int64_t> mask(12);
  for (size_t i = 0; i < 4; ++i) {
    const Example example = source->get(static_cast<int64_t>(i));
    transform_image(decode_image(example.encoded).view(), options.transform, scratch, pixels);
    EXPECT_TRUE(std::equal(pixels.begin(), pixels.end(),
                           batch.pixel_values.begin() + static_cast<int64_t>(i * pixels.size())));
    const int64_t length = tokenizer()->encode_into(example.caption, ids, mask);
    EXPECT_EQ(batch.lengths[i], length);
    EXPECT_TRUE(
        std::equal(ids.begin(), ids.end(), batch.input_ids.begin() + static_cast<int64_t>(i * 12)));
    EXPECT_TRUE(std::equal(mask.begin(), mask.end(),
                           batch.attention_mask.begin() + static_cast<int64_t>(i * 12)));
  }
}

TEST(BatchLoader, ReferenceSemanticsDependOnTheKindOfPicture) {
  LoaderOptions options = loader_options(0);
  options.shuffle = false;
  const auto pixels = [&](ImageKind kind, PixelSemantics semantics) {
    const auto source = std::make_shared<MadeSource>(4);
    source->kind = kind;
    options.transform.semantics = semantics;
    BatchLoader loader(source, tokenizer(), options);
    return loader.next().pixel_values;
  };
  const auto as_u8 = pixels(ImageKind::kBytes, PixelSemantics::kTvU8);
  const auto as_float = pixels(ImageKind::kPath, PixelSemantics::kTvFloatAa);
  EXPECT_NE(as_u8, as_float);
  EXPECT_EQ(pixels(ImageKind::kPath, PixelSemantics::kReference), as_u8);
  EXPECT_EQ(pixels(ImageKind::kBytes, PixelSemantics::kReference), as_float);
  EXPECT_EQ(pixels(ImageKind::kImageFeature, PixelSemantics::kReference), as_float);
}

TEST(BatchLoader, AnyNumberOfThreadsGivesTheSameBytes) {
  const auto source = std::make_shared<MadeSource>(23);
  BatchLoader reference(source, tokenizer(), loader_options(0));
  const std::vector<Copy> expected = take(reference, 14);
  source->delay = std::chrono::milliseconds(1);  // the threads finish out of order
  for (const int workers : {1, 2, 4}) {
    for (const int64_t prefetch : {0, 1, 3}) {
      LoaderOptions options = loader_options(workers);
      options.prefetch = prefetch;
      BatchLoader loader(source, tokenizer(), options);
      EXPECT_EQ(take(loader, 14), expected) << workers << " threads, prefetch " << prefetch;
    }
  }
}

TEST(BatchLoader, ABatchStaysUntilTheNextCall) {
  const auto source = std::make_shared<MadeSource>(40);
  LoaderOptions options = loader_options(3);
  options.prefetch = 1;
  BatchLoader loader(source, tokenizer(), options);
  for (int i = 0; i < 8; ++i) {
    const Batch& batch = loader.next();
    const Copy before = copy_of(batch);
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
    EXPECT_EQ(copy_of(batch), before);
  }
}

TEST(BatchLoader, SeekContinuesWhereAnotherRunStopped) {
  const auto source = std::make_shared<MadeSource>(23);
  BatchLoader straight(source, tokenizer(), loader_options(0));
  const std::vector<Copy> all = take(straight, 18);
  for (const int workers : {0, 2}) {
    BatchLoader loader(source, tokenizer(), loader_options(workers));
    loader.seek(1, 4);
    EXPECT_EQ(take(loader, 6), std::vector<Copy>(all.begin() + 10, all.begin() + 16));
    loader.seek(0, 6);  // behind the last of epoch 0: the first of epoch 1
    EXPECT_EQ(take(loader, 2), std::vector<Copy>(all.begin() + 6, all.begin() + 8));
    for (int i = 0; i < 20; ++i) loader.seek(0, i % 6);
    EXPECT_EQ(copy_of(loader.next()), all[1]);
    EXPECT_THROW(loader.seek(-1, 0), Error);
  }
}

TEST(BatchLoader, ABadRowFailsWhenItsBatchIsDue) {
  const auto source = std::make_shared<MadeSource>(16);
  const SampleOrder order(16, 4, 42, true, false);
  const std::vector<int64_t> third = order.batch(0, 2);
  source->missing = {third[1]};
  source->broken = {third[3]};
  for (const int workers : {0, 1, 4}) {
    BatchLoader loader(source, tokenizer(), loader_options(workers));
    take(loader, 2);
    for (int attempt = 0; attempt < 2; ++attempt) {
      try {
        loader.next();
        ADD_FAILURE() << "no error with " << workers << " threads";
      } catch (const Error& error) {
        // The first bad row of the batch, whichever thread finished first.
        EXPECT_THAT(error.what(), AllOf(HasSubstr(concat("row ", third[1])), HasSubstr("gone")));
      }
    }
    loader.seek(0, 3);
    EXPECT_EQ(loader.next().rows, order.batch(0, 3));
  }
}

TEST(BatchLoader, ABrokenPictureIsNamedWithRowAndFile) {
  const auto source = std::make_shared<MadeSource>(4);
  source->broken = {2};
  LoaderOptions options = loader_options(0);
  options.shuffle = false;
  BatchLoader loader(source, tokenizer(), options);
  try {
    loader.next();
    ADD_FAILURE();
  } catch (const Error& error) {
    EXPECT_THAT(error.what(),
                AllOf(HasSubstr("row 2"), HasSubstr("p2.png"), HasSubstr("made (4 rows), row 2")));
  }
}

TEST(BatchLoader, OtherExceptionsAreCarriedToo) {
  const auto source = std::make_shared<MadeSource>(8);
  source->strange = {5};
  LoaderOptions options = loader_options(2);
  options.shuffle = false;
  options.on_bad_sample = OnBadSample::kSkip;
  BatchLoader loader(source, tokenizer(), options);
  EXPECT_EQ(loader.next().rows, (std::vector<int64_t>{0, 1, 2, 3}));
  EXPECT_THROW(loader.next(), std::runtime_error);
}

TEST(BatchLoader, SkippingReplacesByTheNextUsableRow) {
  const auto source = std::make_shared<MadeSource>(10);
  source->missing = {2, 9};
  source->broken = {3};
  std::vector<Copy> expected;
  for (const int workers : {0, 1, 2, 4}) {
    LoaderOptions options = loader_options(workers);
    options.shuffle = false;
    options.on_bad_sample = OnBadSample::kSkip;
    BatchLoader loader(source, tokenizer(), options);
    EXPECT_THAT(loader.next().rows, ElementsAre(0, 1, 4, 4));
    // Bad rows are listed once their batch was delivered, in order, each once.
    ASSERT_EQ(loader.bad_samples().size(), 2U);
    EXPECT_EQ(loader.bad_samples()[0].row, 2);
    EXPECT_THAT(loader.bad_samples()[0].reason, HasSubstr("gone"));
    EXPECT_EQ(loader.bad_samples()[1].row, 3);
    EXPECT_THAT(loader.next().rows, ElementsAre(4, 5, 6, 7));
    EXPECT_THAT(loader.next().rows, ElementsAre(8, 0));  // cyclic
    EXPECT_THAT(loader.next().rows, ElementsAre(0, 1, 4, 4));
    EXPECT_EQ(loader.bad_samples().size(), 3U);
    const std::vector<Copy> more = take(loader, 4);
    if (expected.empty()) expected = more;
    EXPECT_EQ(more, expected);
  }
}

TEST(BatchLoader, SkippingDoesNotReadABadRowTwice) {
  const auto source = std::make_shared<MadeSource>(4);
  source->missing = {0, 1, 2};
  LoaderOptions options = loader_options(0);
  options.on_bad_sample = OnBadSample::kSkip;
  BatchLoader loader(source, tokenizer(), options);
  take(loader, 5);
  EXPECT_EQ(source->reads, 3 + 5 * 4);
}

TEST(BatchLoader, NoUsableRowIsAnError) {
  const auto source = std::make_shared<MadeSource>(5);
  source->missing = {0, 1, 2, 3, 4};
  for (const int workers : {0, 2}) {
    LoaderOptions options = loader_options(workers);
    options.on_bad_sample = OnBadSample::kSkip;
    BatchLoader loader(source, tokenizer(), options);
    EXPECT_THROW(loader.next(), Error);
  }
}

TEST(BatchLoader, TheDestructorDoesNotFinishTheWork) {
  const auto source = std::make_shared<MadeSource>(1000);
  source->delay = std::chrono::milliseconds(20);
  LoaderOptions options = loader_options(4);
  options.batch_size = 500;
  const auto begin = std::chrono::steady_clock::now();
  {
    BatchLoader loader(source, tokenizer(), options);
    loader.seek(0, 0);
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(1));
  EXPECT_LT(source->reads, 100);
}

TEST(BatchLoader, TheDestructorEndsASearchForUsableRows) {
  const auto source = std::make_shared<MadeSource>(1000);
  for (int64_t row = 0; row < 1000; ++row) source->missing.insert(row);
  source->delay = std::chrono::milliseconds(5);
  LoaderOptions options = loader_options(2);
  options.on_bad_sample = OnBadSample::kSkip;
  const auto begin = std::chrono::steady_clock::now();
  {
    BatchLoader loader(source, tokenizer(), options);
    loader.seek(0, 0);
    std::this_thread::sleep_for(std::chrono::milliseconds(30));
  }
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(1));
}

TEST(BatchLoader, ThreadsStopReadingWhenTheRingIsFull) {
  const auto source = std::make_shared<MadeSource>(400);
  LoaderOptions options = loader_options(4);
  options.prefetch = 2;
  BatchLoader loader(source, tokenizer(), options);
  loader.next();
  std::this_thread::sleep_for(std::chrono::milliseconds(100));
  EXPECT_LE(source->reads, 4 * 3);  // the batch in hand and two ahead
  EXPECT_GE(loader.wait_seconds(), 0.0);
}

TEST(BatchLoader, ImpossibleSettingsAreNamed) {
  const auto source = std::make_shared<MadeSource>(3);
  LoaderOptions options = loader_options(0);
  options.drop_last = true;
  BatchLoader loader(source, tokenizer(), options);
  EXPECT_EQ(loader.batches_per_epoch(), 0);
  EXPECT_THROW(loader.next(), Error);
  options.batch_size = 0;
  EXPECT_THROW(BatchLoader(source, tokenizer(), options), Error);
  options = loader_options(-2);
  EXPECT_THROW(BatchLoader(source, tokenizer(), options), Error);
  options = loader_options(0);
  options.max_seq_length = 1;
  EXPECT_THROW(BatchLoader(source, tokenizer(), options), Error);
}

}  // namespace
}  // namespace cantilever
