#pragma once

#include <exception>
#include <vector>

#include "cantilever/data/loader/sample_maker.h"

namespace cantilever {

// A batch under construction: memory made once, samples claimed and filled one by one.
class BatchSlot {
 public:
  // Gives the slot to another batch.
  void prepare(int64_t epoch, int64_t index, std::vector<int64_t> rows,
               const LoaderOptions& options);

  // The memory of sample `i`.
  SamplePlace place(int64_t i);
  // Makes sample `i`; an exception is kept for check().
  void make(int64_t i, const SampleMaker& maker, TransformScratch& scratch,
            const std::atomic<bool>& stop);
  // Throws what the first sample that failed threw.
  void check() const;

  int64_t size() const { return static_cast<int64_t>(rows_.size()); }
  const Batch& batch() const { return batch_; }
  // Bad rows that sample `i` passed over.
  const std::vector<BadSample>& bad(int64_t i) const { return bad_[static_cast<size_t>(i)]; }

  int64_t claimed = 0;  // samples that a thread has taken
  int64_t done = 0;     // samples that are finished

 private:
  Batch batch_;
  std::vector<int64_t> rows_;
  std::vector<std::vector<BadSample>> bad_;
  std::vector<std::exception_ptr> errors_;
};

}  // namespace cantilever
