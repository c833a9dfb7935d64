#include "cantilever/train/retrieval.h"

#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "cantilever/base/error.h"

namespace cantilever {
namespace {

using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

at::Tensor random_unit(int64_t rows, int64_t width, uint64_t seed) {
  at::manual_seed(seed);
  const at::Tensor x = at::randn({rows, width});
  return x / x.norm(2, 1, true);
}

TEST(Retrieval, PerfectPairs) {
  const at::Tensor x = random_unit(700, 16, 1);
  const RetrievalMetrics metrics = measure_retrieval(x, x);
  EXPECT_EQ(metrics.rows, 700);
  for (const RetrievalSide& side : {metrics.text_to_image, metrics.image_to_text}) {
    EXPECT_EQ(side.queries, 700);
    EXPECT_EQ(side.recall_at_1, 1);
    EXPECT_EQ(side.median_rank, 1);
    EXPECT_NEAR(side.chance_at_5, 5.0 / 700, 1e-12);
  }
}

// Scores by hand: text 0 finds image 1 first and its own second, text 1 its own first, text 2 last.
TEST(Retrieval, RanksByHand) {
  const at::Tensor text = at::tensor({1.F, 0.F, 0.F, 0.F, 1.F, 0.F, 0.F, 0.F, 1.F}).view({3, 3});
  const at::Tensor image = at::tensor({.5F, .1F, .9F, .7F, .6F, .5F, .2F, .3F, .1F}).view({3, 3});
  const RetrievalSide side = measure_retrieval(text, image).text_to_image;
  EXPECT_NEAR(side.recall_at_1, 1.0 / 3, 1e-12);
  EXPECT_NEAR(side.recall_at_5, 1, 1e-12);
  EXPECT_EQ(side.median_rank, 2);
}

TEST(Retrieval, ACollapsedModelIsRatedAtChance) {
  const at::Tensor x = random_unit(1, 8, 2).expand({300, 8}).contiguous();
  const RetrievalSide side = measure_retrieval(x, x).text_to_image;
  EXPECT_NEAR(side.recall_at_1, 1.0 / 300, 1e-9);
  EXPECT_NEAR(side.recall_at_10, 10.0 / 300, 1e-9);
  EXPECT_NEAR(side.recall_at_10, side.chance_at_10, 1e-9);
  EXPECT_EQ(side.median_rank, 150.5);
}

TEST(Retrieval, RepeatedCaptionsAndPicturesDoNotDependOnTheOrderOfRows) {
  // Five rows a caption, two a picture; some captions share a picture.
  constexpr int64_t kRows = 60;
  const at::Tensor captions = random_unit(12, 8, 3);
  const at::Tensor pictures = random_unit(30, 8, 4);
  std::vector<int64_t> order(kRows);
  std::iota(order.begin(), order.end(), 0);
  std::vector<RetrievalMetrics> found;
  for (int round = 0; round < 4; ++round) {
    std::vector<int64_t> caption_ids, image_ids;
    for (const int64_t row : order) {
      caption_ids.push_back(row / 5);
      image_ids.push_back(row / 2);
    }
    const at::Tensor text = captions.index_select(0, at::tensor(caption_ids, at::kLong));
    const at::Tensor image = pictures.index_select(0, at::tensor(image_ids, at::kLong));
    found.push_back(measure_retrieval(text, image, caption_ids, image_ids));
    std::rotate(order.begin(), order.begin() + 7, order.end());
    std::reverse(order.begin() + 10, order.begin() + 40);
  }
  EXPECT_EQ(found[0].text_to_image.queries, 12);
  EXPECT_EQ(found[0].text_to_image.gallery, 30);
  for (const RetrievalMetrics& metrics : found) {
    EXPECT_DOUBLE_EQ(metrics.text_to_image.recall_at_5, found[0].text_to_image.recall_at_5);
    EXPECT_DOUBLE_EQ(metrics.image_to_text.recall_at_1, found[0].image_to_text.recall_at_1);
    EXPECT_EQ(metrics.text_to_image.median_rank, found[0].text_to_image.median_rank);
  }
}

TEST(Retrieval, TheBestOfSeveralRightAnswersCounts) {
  // One caption with two pictures, the second of which is found first.
  const at::Tensor text = at::tensor({1.F, 0.F, 1.F, 0.F, 0.F, 1.F}).view({3, 2});
  const at::Tensor image = at::tensor({.1F, .9F, .9F, .1F, .5F, .8F}).view({3, 2});
  const RetrievalSide side = measure_retrieval(text, image, {0, 0, 1}, {0, 1, 2}).text_to_image;
  EXPECT_EQ(side.queries, 2);
  EXPECT_DOUBLE_EQ(side.recall_at_1, 0.5);  // caption 1 finds picture 0 before its own
}

TEST(Retrieval, RefusesWhatIsNoPair) {
  EXPECT_THAT([] { measure_retrieval(at::ones({3, 4}), at::ones({2, 4})); },
              ThrowsMessage<Error>(HasSubstr("must be pairs")));
  EXPECT_THAT([] { measure_retrieval(at::ones({0, 4}), at::ones({0, 4})); },
              ThrowsMessage<Error>(HasSubstr("at least one row")));
  EXPECT_THAT([] { measure_retrieval(at::ones({1, 4}) / 0, at::ones({1, 4})); },
              ThrowsMessage<Error>(HasSubstr("not finite")));
}

}  // namespace
}  // namespace cantilever
