#include "cantilever/data/batch_tensors.h"

#include <ATen/ops/from_blob.h>

#include "cantilever/base/error.h"

namespace cantilever {
namespace {

// A view; the tensors are read only, though their type cannot say so.
template <class T>
at::Tensor view_of(const std::vector<T>& values, at::IntArrayRef shape, at::ScalarType type) {
  int64_t count = 1;
  for (const int64_t size : shape) count *= size;
  CANTILEVER_ASSERT(static_cast<int64_t>(values.size()) == count, values.size(), " values for ",
                    count);
  return at::from_blob(const_cast<T*>(values.data()), shape, at::TensorOptions().dtype(type));
}

}  // namespace

BatchTensors to_tensors(const Batch& batch) {
  const int64_t side = batch.side;
  const int64_t length = batch.text_length;
  return {view_of(batch.pixel_values, {batch.size, 3, side, side}, at::kFloat),
          view_of(batch.input_ids, {batch.size, length}, at::kLong),
          view_of(batch.attention_mask, {batch.size, length}, at::kLong)};
}

}  // namespace cantilever
