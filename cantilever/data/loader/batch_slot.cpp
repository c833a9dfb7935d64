#include "cantilever/data/loader/batch_slot.h"

#include <algorithm>

namespace cantilever {

void BatchSlot::prepare(int64_t epoch, int64_t index, const SampleOrder& order,
                        const LoaderOptions& options, bool has_text) {
  order.batch(epoch, index, rows_);
  const size_t count = rows_.size();
  const auto side = static_cast<size_t>(options.transform.side);
  const auto length = has_text ? static_cast<size_t>(options.max_seq_length) : 0;
  // A short last batch keeps the capacity, so nothing is allocated from the second batch on.
  batch_.epoch = epoch;
  batch_.index = index;
  batch_.size = size();
  batch_.side = options.transform.side;
  batch_.text_length = static_cast<int64_t>(length);
  batch_.pixel_values.resize(count * 3 * side * side);
  batch_.input_ids.resize(count * length);
  batch_.attention_mask.resize(count * length);
  batch_.lengths.resize(count);
  batch_.rows.resize(count);
  passed_.assign(count, 0);
  errors_.assign(count, nullptr);
  device_error_ = nullptr;
  any_passed_ = false;
  any_error_ = false;
  device_.clear();
  fetched = 0;
  done = 0;
}

SamplePlace BatchSlot::place(size_t i) {
  const size_t pixels = batch_.pixel_values.size() / rows_.size();
  const auto length = static_cast<size_t>(batch_.text_length);
  return {std::span(batch_.pixel_values).subspan(i * pixels, pixels),
          std::span(batch_.input_ids).subspan(i * length, length),
          std::span(batch_.attention_mask).subspan(i * length, length), &batch_.lengths[i],
          &batch_.rows[i]};
}

void BatchSlot::make(int64_t i, DeviceBatch* device, const SampleMaker& maker, SampleMemory& memory,
                     const std::atomic<bool>& stop) {
  const auto at = static_cast<size_t>(i);
  try {
    passed_[at] = maker.make({rows_[at], batch_.epoch, place(at), i, device}, memory, stop);
    if (passed_[at] > 0) any_passed_ = true;
  } catch (...) {
    errors_[at] = std::current_exception();
    any_error_ = true;
  }
}

void BatchSlot::make(int64_t i, const SampleMaker& maker, SampleMemory& memory,
                     const std::atomic<bool>& stop) {
  make(i, maker.device() == nullptr ? nullptr : &device_, maker, memory, stop);
}

void BatchSlot::run_device(DeviceDecoder& device, std::vector<int64_t>& rest,
                           StageCounters& counters) {
  try {
    device_.decode(device, rest, counters);
  } catch (...) {
    rest.clear();
    device_error_ = std::current_exception();
    any_error_ = true;
  }
}

void BatchSlot::make_again(int64_t i, const SampleMaker& maker, SampleMemory& memory,
                           const std::atomic<bool>& stop) {
  make(i, nullptr, maker, memory, stop);
}

void BatchSlot::check() const {
  if (!any_error_) return;
  if (device_error_) std::rethrow_exception(device_error_);
  for (const std::exception_ptr& error : errors_) {
    if (error) std::rethrow_exception(error);
  }
}

}  // namespace cantilever
