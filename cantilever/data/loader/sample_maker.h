#pragma once

#include <atomic>
#include <mutex>
#include <optional>
#include <span>
#include <unordered_map>

#include "cantilever/data/loader/batch_loader.h"

namespace cantilever {

// Where one sample of a batch belongs.
struct SamplePlace {
  std::span<float> pixels;  // [3, S, S]
  std::span<int64_t> ids;   // [L]
  std::span<int64_t> mask;  // [L]
  int64_t* length = nullptr;
  int64_t* row = nullptr;
};

// Turns rows into samples. One object serves all threads; each brings its own scratch.
class SampleMaker {
 public:
  SampleMaker(std::shared_ptr<const ExampleSource> source,
              std::shared_ptr<const Tokenizer> tokenizer, const LoaderOptions& options);

  // Fills `place` with `row`. A bad row throws Error (kFail), or the next usable row takes its
  // place and every row passed over is appended to `bad` (kSkip; Error when no row is usable). Once
  // `stop` is set the search ends with `place` unfinished.
  void make(int64_t row, const SamplePlace& place, TransformScratch& scratch,
            const std::atomic<bool>& stop, std::vector<BadSample>& bad) const;

 private:
  void make_usable(int64_t row, const SamplePlace& place, TransformScratch& scratch) const;
  // The reason when the row is known to be bad.
  std::optional<std::string> known_bad(int64_t row) const;

  std::shared_ptr<const ExampleSource> source_;
  std::shared_ptr<const Tokenizer> tokenizer_;
  LoaderOptions options_;
  // A bad row is bad in every epoch: what was found once is not decoded again.
  mutable std::mutex mutex_;
  mutable std::unordered_map<int64_t, std::string> bad_;
};

}  // namespace cantilever
