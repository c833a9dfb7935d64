#pragma once

#include <atomic>
#include <exception>
#include <vector>

#include "cantilever/data/loader/sample_maker.h"
#include "cantilever/data/order/sample_order.h"

namespace cantilever {

// A batch under construction: memory made once, samples filled one by one by any thread.
class BatchSlot {
 public:
  // Gives the slot to another batch. No thread may work on it.
  void prepare(int64_t epoch, int64_t index, const SampleOrder& order, const LoaderOptions& options,
               bool has_text);

  // Makes sample `i`; an exception is kept for check(). With a device the picture may wait there.
  void make(int64_t i, const SampleMaker& maker, SampleMemory& memory,
            const std::atomic<bool>& stop);
  // Lets the device decode what was offered to it; `rest`: samples to make again on the host.
  void run_device(DeviceDecoder& device, std::vector<int64_t>& rest, StageCounters& counters);
  // Makes sample `i` anew on the host.
  void make_again(int64_t i, const SampleMaker& maker, SampleMemory& memory,
                  const std::atomic<bool>& stop);
  // Throws what the first sample that failed threw.
  void check() const;

  int64_t size() const { return static_cast<int64_t>(rows_.size()); }
  const Batch& batch() const { return batch_; }
  // The row that sample `i` should have had, and how many bad ones from there on it passed over.
  int64_t wanted_row(int64_t i) const { return rows_[static_cast<size_t>(i)]; }
  int64_t passed(int64_t i) const { return passed_[static_cast<size_t>(i)]; }
  // Whether any sample passed over a bad row.
  bool any_passed() const { return any_passed_.load(std::memory_order_relaxed); }

  // Counters that threads meet at, on a cache line of their own. The team counts (batch_loader).
  alignas(64) std::atomic<int64_t> fetched{0};  // samples through make()
  std::atomic<int64_t> done{0};                 // samples that are finished

 private:
  void make(int64_t i, DeviceBatch* device, const SampleMaker& maker, SampleMemory& memory,
            const std::atomic<bool>& stop);
  SamplePlace place(size_t i);

  alignas(64) Batch batch_;
  std::vector<int64_t> rows_;
  std::vector<int64_t> passed_;
  std::vector<std::exception_ptr> errors_;
  std::exception_ptr device_error_;
  std::atomic<bool> any_passed_{false};
  std::atomic<bool> any_error_{false};
  DeviceBatch device_;
};

}  // namespace cantilever
