#include "cantilever/data/loader/batch_slot.h"

namespace cantilever {

void BatchSlot::prepare(int64_t epoch, int64_t index, std::vector<int64_t> rows,
                        const LoaderOptions& options) {
  rows_ = std::move(rows);
  const size_t count = rows_.size();
  const size_t side = static_cast<size_t>(options.transform.side);
  const size_t length = static_cast<size_t>(options.max_seq_length);
  // A short last batch keeps the capacity, so nothing is allocated from the second batch on.
  batch_.epoch = epoch;
  batch_.index = index;
  batch_.size = size();
  batch_.side = options.transform.side;
  batch_.text_length = options.max_seq_length;
  batch_.pixel_values.resize(count * 3 * side * side);
  batch_.input_ids.resize(count * length);
  batch_.attention_mask.resize(count * length);
  batch_.lengths.resize(count);
  batch_.rows.resize(count);
  bad_.assign(count, {});
  errors_.assign(count, nullptr);
  claimed = 0;
  done = 0;
}

SamplePlace BatchSlot::place(int64_t i) {
  const size_t at = static_cast<size_t>(i);
  const size_t pixels = batch_.pixel_values.size() / rows_.size();
  const size_t length = static_cast<size_t>(batch_.text_length);
  return {std::span(batch_.pixel_values).subspan(at * pixels, pixels),
          std::span(batch_.input_ids).subspan(at * length, length),
          std::span(batch_.attention_mask).subspan(at * length, length), &batch_.lengths[at],
          &batch_.rows[at]};
}

void BatchSlot::make(int64_t i, const SampleMaker& maker, TransformScratch& scratch,
                     const std::atomic<bool>& stop) {
  const size_t at = static_cast<size_t>(i);
  try {
    maker.make(rows_[at], place(i), scratch, stop, bad_[at]);
  } catch (...) {
    errors_[at] = std::current_exception();
  }
}

void BatchSlot::check() const {
  for (const std::exception_ptr& error : errors_) {
    if (error) std::rethrow_exception(error);
  }
}

}  // namespace cantilever
