#include "cantilever/data/batch_tensors.h"

#include <gtest/gtest.h>

#include "cantilever/base/error.h"

namespace cantilever {
namespace {

Batch make_batch() {
  Batch batch;
  batch.size = 2;
  batch.side = 2;
  batch.text_length = 3;
  for (int i = 0; i < 2 * 3 * 2 * 2; ++i) batch.pixel_values.push_back(static_cast<float>(i));
  batch.input_ids = {0, 7, 2, 0, 8, 2};
  batch.attention_mask = {1, 1, 1, 1, 1, 0};
  return batch;
}

TEST(BatchTensors, AreViewsOfTheBatch) {
  Batch batch = make_batch();
  const BatchTensors tensors = to_tensors(batch);
  EXPECT_EQ(tensors.pixel_values.sizes(), (at::IntArrayRef{2, 3, 2, 2}));
  EXPECT_EQ(tensors.input_ids.sizes(), (at::IntArrayRef{2, 3}));
  EXPECT_EQ(tensors.attention_mask.sizes(), (at::IntArrayRef{2, 3}));
  EXPECT_EQ(tensors.pixel_values.scalar_type(), at::kFloat);
  EXPECT_EQ(tensors.input_ids.scalar_type(), at::kLong);
  EXPECT_EQ(tensors.pixel_values.data_ptr(), batch.pixel_values.data());
  EXPECT_EQ(tensors.input_ids.data_ptr(), batch.input_ids.data());
  EXPECT_EQ(tensors.attention_mask.data_ptr(), batch.attention_mask.data());
  batch.pixel_values[5] = 100.0F;
  EXPECT_EQ(tensors.pixel_values.data_ptr<float>()[5], 100.0F);
}

TEST(BatchTensors, ABatchThatContradictsItselfIsOurBug) {
  Batch batch = make_batch();
  batch.side = 3;
  EXPECT_THROW(to_tensors(batch), InternalError);
}

}  // namespace
}  // namespace cantilever
