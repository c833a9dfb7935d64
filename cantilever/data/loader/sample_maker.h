#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <shared_mutex>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "cantilever/data/loader/batch_loader.h"
#include "cantilever/data/loader/caption_cache.h"
#include "cantilever/data/loader/device_batch.h"

namespace cantilever {

// Where one sample of a batch belongs.
struct SamplePlace {
  std::span<float> pixels;  // [3, S, S]
  std::span<int64_t> ids;   // [L]
  std::span<int64_t> mask;  // [L]
  int64_t* length = nullptr;
  int64_t* row = nullptr;
};

// One sample to make.
struct SampleTask {
  int64_t row = 0;
  int64_t epoch = 0;
  SamplePlace place;
  int64_t number = 0;             // in its batch
  DeviceBatch* device = nullptr;  // null: the picture is made here
};

// What a thread keeps from sample to sample, so that none allocates.
struct SampleMemory {
  explicit SampleMemory(StageCounters& own) : counters(own) {}

  TransformScratch transform;
  Example example;
  std::string caption;
  std::vector<std::byte> picture;  // finished, of the cache's type, when the cache has no room
  StageCounters& counters;
};

// Turns rows into samples. One object serves all threads; each brings its own memory.
class SampleMaker {
 public:
  // Throws Error: a combination of options that is not possible, no room for the cache.
  SampleMaker(std::shared_ptr<const ExampleSource> source,
              std::shared_ptr<const Tokenizer> tokenizer, const LoaderOptions& options);

  // Fills the task's place with its row. A bad row throws Error (kFail), or the next usable row
  // after it (cyclic) takes its place (kSkip; Error when no row is usable); returns how many rows
  // were passed over. With a device the pixels may be missing still: the picture lies in the
  // device's batch. Once `stop` is set the search ends with the place unfinished.
  int64_t make(const SampleTask& task, SampleMemory& memory, const std::atomic<bool>& stop) const;

  // Why a row that make() passed over in an epoch is bad.
  std::string reason(int64_t row, int64_t epoch) const;
  // Null without device_decode.
  DeviceDecoder* device() const { return options_.device.get(); }
  bool has_text() const { return tokenizer_ != nullptr; }

 private:
  using BadKey = std::pair<int64_t, uint64_t>;  // row, number of the caption

  void make_usable(int64_t row, const SampleTask& task, SampleMemory& memory) const;
  bool find_caption(int64_t row, uint64_t draw, const SamplePlace& place,
                    SampleMemory& memory) const;
  void tokenise(int64_t row, uint64_t draw, const std::string& caption, const SamplePlace& place,
                SampleMemory& memory) const;
  uint64_t caption_draw(int64_t row, int64_t epoch) const;
  uint64_t caption_number(int64_t row, uint64_t draw) const;
  bool find_picture(int64_t row, const SamplePlace& place, SampleMemory& memory) const;
  void make_picture(int64_t row, const SampleTask& task, SampleMemory& memory) const;
  void make_cached_picture(int64_t row, const DeviceJob& job, const SamplePlace& place,
                           SampleMemory& memory, PictureTimes& times) const;
  bool known_bad(int64_t row, int64_t epoch) const;
  void remember_bad(int64_t row, int64_t epoch, const std::string& reason) const;
  BadKey bad_key(int64_t row, int64_t epoch) const;
  std::string name_of(int64_t row, bool read, const Example& example) const;

  std::shared_ptr<const ExampleSource> source_;
  std::shared_ptr<const Tokenizer> tokenizer_;
  LoaderOptions options_;
  std::unique_ptr<DecodedCache> cache_;     // null: off
  std::unique_ptr<CaptionCache> captions_;  // null: off
  // What was found bad once is not decoded again. A row may be bad for one of its captions alone,
  // so it is known by row and caption: which rows an epoch passes over must not depend on the
  // epochs before it, or a resumed run would see other batches.
  mutable std::atomic<bool> any_bad_{false};
  mutable std::shared_mutex bad_mutex_;
  mutable std::map<BadKey, std::string> bad_;
};

}  // namespace cantilever
