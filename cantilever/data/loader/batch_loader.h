#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "cantilever/data/image/transform.h"
#include "cantilever/data/order/sample_order.h"
#include "cantilever/data/source/example_source.h"
#include "cantilever/data/text/tokenizer.h"

namespace cantilever {

// One batch in host memory. B pairs, side S, L tokens.
struct Batch {
  int64_t epoch = 0;
  int64_t index = 0;                    // within the epoch
  int64_t size = 0;                     // B
  int64_t side = 0;                     // S
  int64_t text_length = 0;              // L
  std::vector<float> pixel_values;      // [B, 3, S, S]
  std::vector<int64_t> input_ids;       // [B, L]
  std::vector<int64_t> attention_mask;  // [B, L]
  std::vector<int64_t> lengths;         // real ids of each row [B]
  std::vector<int64_t> rows;            // row numbers [B]; of a replaced row, the replacement's
};

// A row that could not be used.
struct BadSample {
  int64_t row = 0;
  std::string reason;
};

enum class OnBadSample { kFail, kSkip };
enum class ExifOrientation { kAuto, kOn, kOff };

struct LoaderOptions {
  int64_t batch_size = 8;
  int64_t max_seq_length = 128;
  int num_workers = 0;   // threads; 0: in the thread that calls next()
  int64_t prefetch = 2;  // batches ahead of the consumer when there are threads
  uint64_t seed = 42;
  bool shuffle = true;
  bool drop_last = false;
  TransformOptions transform;                                 // semantics may be kReference here
  ExifOrientation exif_orientation = ExifOrientation::kAuto;  // kAuto: only for kImageFeature
  DecodeOptions decode;
  OnBadSample on_bad_sample = OnBadSample::kFail;
};

// Batches in order from (epoch, index) on, the same bytes for any number of threads. A bad row
// under kSkip is replaced by the next usable row after it (cyclic, by row number), so batch sizes
// stay equal and a resumed run sees the same. Destructor stops the threads within one sample.
class BatchLoader {
 public:
  BatchLoader(std::shared_ptr<const ExampleSource> source,
              std::shared_ptr<const Tokenizer> tokenizer, const LoaderOptions& options);
  ~BatchLoader();

  int64_t batches_per_epoch() const;
  // Starts (again) at a position; epochs run on without end.
  void seek(int64_t epoch, int64_t index);
  // The next batch; the reference stays valid until the following call. Throws the Error of a bad
  // sample (kFail) with row, file and reason when its batch is due.
  const Batch& next();

  double wait_seconds() const;  // time next() has spent waiting or working
  const std::vector<BadSample>& bad_samples()
      const;  // of delivered batches, in order, each row once

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace cantilever
