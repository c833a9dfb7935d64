#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "cantilever/data/image/transform.h"
#include "cantilever/data/loader/decoded_cache.h"
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

class DeviceDecoder;

// num_workers: threads that a controller adds and parks by what the consumer waits, within the CPUs
// that affinity and cgroup quota allow.
inline constexpr int kAutoWorkers = -1;

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
  int64_t end_epoch = 0;       // no batch of it or of a later one is made ahead; 0: there is no end
  TransformOptions transform;  // semantics may be kReference here
  ExifOrientation exif_orientation = ExifOrientation::kAuto;  // kAuto: only for kImageFeature
  DecodeOptions decode;
  OnBadSample on_bad_sample = OnBadSample::kFail;
  bool random_captions =
      false;  // of rows with several: drawn by (seed, epoch, row), else the first
  AugmentationOptions augmentation;                 // drawn by (seed, epoch, row)
  DecodedCacheOptions cache;                        // not together with augmentation
  int64_t caption_cache_bytes = int64_t{64} << 20;  // of token ids kept; 0: none
  bool device_decode = false;  // pictures go through a DeviceDecoder, those it cannot take do not;
                               // not together with augmentation or cache
  std::shared_ptr<DeviceDecoder> device;  // of device_decode; null: open_device_decoder("cpu")
};

// What a loader has done since it was made. Seconds are added over all threads.
struct LoaderStatistics {
  int64_t images = 0;  // samples of delivered batches
  int64_t batches = 0;
  double seconds = 0;       // since the first next()
  double wait_seconds = 0;  // that the consumer waited in next() (without threads: its work)
  double read_seconds = 0;  // rows out of the source
  double decode_seconds = 0;
  double transform_seconds = 0;  // resize, crop, normalise, augmentation, copies out of the cache
  double tokenize_seconds = 0;
  double device_seconds = 0;       // in DeviceDecoder::decode
  int64_t cache_hits = 0;          // pictures
  int64_t caption_hits = 0;        // captions whose ids were there
  int64_t bad_rows = 0;            // replaced, each row once
  int64_t device_images = 0;       // device_decode: decoded there,
  int64_t device_unsupported = 0;  // of a kind it does not take,
  int64_t device_failed = 0;       // tried there and left to the host
  int threads = 0;                 // working now; 0: in the calling thread
  // "decode" or the like: the stage with most seconds.
  std::string slowest_stage() const;
  // Of the time since the first next(), the part that the consumer waited: 0 to 1.
  double wait_share() const;
};

// Batches in order from (epoch, index) on, the same bytes for any number of threads. A bad row
// under kSkip is replaced by the next usable row after it (cyclic, by row number), so batch sizes
// stay equal and a resumed run sees the same.
//
// One thread at a time calls the functions; statistics() may be called by any. The destructor
// returns within a second: a thread that sits in a read of the source longer is left behind with
// what it needs, and ends when the read does.
class BatchLoader {
 public:
  // Without a tokenizer (null) batches hold pictures only: L is 0 and captions are not read.
  // Throws Error: a size or a combination of options that is not possible, no room for the cache.
  BatchLoader(std::shared_ptr<const ExampleSource> source,
              std::shared_ptr<const Tokenizer> tokenizer, const LoaderOptions& options);
  ~BatchLoader();

  int64_t batches_per_epoch() const;
  // Starts (again) at a position; epochs run on without end. Waits for samples in work.
  void seek(int64_t epoch, int64_t index);
  // The next batch; the reference stays valid until the following call. Throws the Error of a bad
  // sample (kFail) with row, file and reason when its batch is due, and InternalError behind the
  // last batch before end_epoch.
  const Batch& next();
  // Gives up the batches made ahead and lets the threads sleep until next() or seek(), which make
  // them anew: next() goes on where it would have. Ends the validity of the last batch.
  void pause();

  LoaderStatistics statistics() const;
  double wait_seconds() const;  // time next() has spent waiting or working
  const std::vector<BadSample>& bad_samples()
      const;  // of delivered batches, in order, each row once

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace cantilever
