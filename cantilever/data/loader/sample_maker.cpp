#include "cantilever/data/loader/sample_maker.h"

#include <algorithm>
#include <iomanip>
#include <mutex>
#include <sstream>

#include "cantilever/base/error.h"
#include "cantilever/base/file.h"
#include "cantilever/base/rng.h"

namespace cantilever {
namespace {

// Keeps the draw of a caption apart from the draws of the picture, which have the key itself.
constexpr uint64_t kCaptionStream = 0x63617074696F6E73ULL;

size_t picture_values(const LoaderOptions& options) {
  const auto side = static_cast<size_t>(options.transform.side);
  return 3 * side * side;
}

// Everything that finished pictures depend on, but for pictures in files of their own: stamp_of().
std::string cache_key(const ExampleSource& source, const LoaderOptions& options) {
  const TransformOptions& transform = options.transform;
  const char* exif = options.exif_orientation == ExifOrientation::kAuto ? "auto"
                     : options.exif_orientation == ExifOrientation::kOn ? "on"
                                                                        : "off";
  std::ostringstream key;
  key << "source " << std::hex << source.fingerprint() << std::dec << ", rows " << source.size()
      << ", side " << transform.side << ", semantics " << pixel_semantics_name(transform.semantics)
      << ", exif " << exif << ", turned " << options.decode.apply_exif_orientation << ", limit "
      << options.decode.max_pixels << ", type " << pixel_type_name(options.cache.type)
      << std::setprecision(9);
  for (const float value : transform.mean) key << ", mean " << value;
  for (const float value : transform.std) key << ", std " << value;
  return key.str();
}

// Of the file of its own that the picture lies in; 0 when it lies in a file of the set. Asked right
// after the file was opened: a change while it is decoded shows in the next run.
uint64_t stamp_of(const Example& example) {
  const std::span<const std::byte> file = example.file.bytes();
  if (file.empty() || file.data() != example.encoded.data()) return 0;
  return std::max<uint64_t>(1, file_fingerprint(example.image_path));
}

PictureStamp stamps_of(std::shared_ptr<const ExampleSource> source) {
  return [source = std::move(source)](int64_t row) -> uint64_t {
    try {
      return stamp_of(source->get(row));
    } catch (const Error&) {
      return 0;  // none that fits: the row is made anew, and that says what is wrong
    }
  };
}

void check_combination(const LoaderOptions& options) {
  const bool cached = options.cache.tier != CacheTier::kOff;
  const bool changed = options.augmentation.any();
  CANTILEVER_CHECK(!(cached && changed),
                   "a cache of finished pictures (--decoded_cache) and augmentation exclude each "
                   "other: an augmented picture is another one in each epoch");
  CANTILEVER_CHECK(!(options.device_decode && changed),
                   "augmentation is done on the host: it cannot be combined with decoding on a "
                   "device (--mediapipe_dataloader)");
  CANTILEVER_CHECK(!(options.device_decode && cached),
                   "a cache of finished pictures (--decoded_cache) keeps what the host makes: it "
                   "cannot be combined with decoding on a device (--mediapipe_dataloader)");
}

void fill_behind(int64_t pad, size_t length, const SamplePlace& place) {
  std::fill(place.ids.begin() + static_cast<ptrdiff_t>(length), place.ids.end(), pad);
  std::fill_n(place.mask.begin(), length, int64_t{1});
  std::fill(place.mask.begin() + static_cast<ptrdiff_t>(length), place.mask.end(), int64_t{0});
  *place.length = static_cast<int64_t>(length);
}

}  // namespace

SampleMaker::SampleMaker(std::shared_ptr<const ExampleSource> source,
                         std::shared_ptr<const Tokenizer> tokenizer, const LoaderOptions& options)
    : source_(std::move(source)), tokenizer_(std::move(tokenizer)), options_(options) {
  check_combination(options);
  if (!options.device_decode) {
    options_.device = nullptr;
  } else if (!options.device) {
    options_.device = open_device_decoder("cpu");
  }
  if (options.cache.tier != CacheTier::kOff) {
    cache_ = DecodedCache::open(options.cache, source_->size(),
                                static_cast<int64_t>(picture_values(options)),
                                cache_key(*source_, options), stamps_of(source_));
  }
  if (tokenizer_ && options.caption_cache_bytes > 0) {
    captions_ = std::make_unique<CaptionCache>(
        CaptionCache::Options{source_->size(), tokenizer_->vocab_size(), options.max_seq_length,
                              options.caption_cache_bytes, options.random_captions});
  }
}

int64_t SampleMaker::make(const SampleTask& task, SampleMemory& memory,
                          const std::atomic<bool>& stop) const {
  if (options_.on_bad_sample == OnBadSample::kFail) {
    make_usable(task.row, task, memory);
    return 0;
  }
  const int64_t rows = source_->size();
  int64_t passed = 0;
  for (; passed < rows && !stop.load(std::memory_order_relaxed); ++passed) {
    const int64_t candidate = (task.row + passed) % rows;
    if (known_bad(candidate, task.epoch)) continue;
    try {
      make_usable(candidate, task, memory);
      return passed;
    } catch (const Error& error) {
      remember_bad(candidate, task.epoch, error.what());
    }
  }
  CANTILEVER_CHECK(passed < rows, "none of the ", rows, " rows of ", source_->description(),
                   " is usable; the first reason: ", reason(task.row, task.epoch));
  return passed;
}

void SampleMaker::make_usable(int64_t row, const SampleTask& task, SampleMemory& memory) const {
  bool read = false;
  try {
    const uint64_t draw = caption_draw(row, task.epoch);
    const bool told = !has_text() || find_caption(row, draw, task.place, memory);
    if (!find_picture(row, task.place, memory)) {
      const StageClock::time_point begin = StageClock::now();
      source_->read(row, draw, memory.example);
      StageCounters::add(memory.counters.read, seconds_between(begin, StageClock::now()));
      read = true;
      if (!told) tokenise(row, draw, memory.example.caption, task.place, memory);
      make_picture(row, task, memory);
    } else if (!told) {
      const StageClock::time_point begin = StageClock::now();
      source_->read_caption(row, draw, memory.caption);
      StageCounters::add(memory.counters.read, seconds_between(begin, StageClock::now()));
      tokenise(row, draw, memory.caption, task.place, memory);
    }
    *task.place.row = row;
  } catch (const Error& error) {
    throw_error(concat(name_of(row, read, memory.example), ": ", error.what()));
  }
}

// The number of a row in a split that was cut or shuffled helps nobody find it; what read() throws
// has the place already.
std::string SampleMaker::name_of(int64_t row, bool read, const Example& example) const {
  if (!read) return concat("row ", row);
  std::string name = concat("row ", row, " (", source_->place(row));
  if (!example.image_path.empty()) name += concat(", picture ", quoted(example.image_path, 200));
  return name + ")";
}

uint64_t SampleMaker::caption_draw(int64_t row, int64_t epoch) const {
  if (!options_.random_captions) return 0;
  const uint64_t key =
      mix_key(mix_key(options_.seed, static_cast<uint64_t>(epoch)), static_cast<uint64_t>(row));
  return mix_key(key, kCaptionStream);
}

// Which caption of the row the draw means. The source is asked once a row.
uint64_t SampleMaker::caption_number(int64_t row, uint64_t draw) const {
  if (!options_.random_captions) return 0;
  int64_t count = captions_ ? captions_->count(row) : 0;
  if (count == 0) {
    count = std::max<int64_t>(1, source_->caption_count(row));
    if (captions_) captions_->keep_count(row, count);
  }
  return draw % static_cast<uint64_t>(count);
}

bool SampleMaker::find_caption(int64_t row, uint64_t draw, const SamplePlace& place,
                               SampleMemory& memory) const {
  if (!captions_) return false;
  const size_t length = captions_->find(row, caption_number(row, draw), place.ids);
  if (length == 0) return false;
  fill_behind(tokenizer_->pad_id(), length, place);
  StageCounters::add(memory.counters.caption_hits, int64_t{1});
  return true;
}

void SampleMaker::tokenise(int64_t row, uint64_t draw, const std::string& caption,
                           const SamplePlace& place, SampleMemory& memory) const {
  const StageClock::time_point begin = StageClock::now();
  *place.length = tokenizer_->encode_into(caption, place.ids, place.mask);
  if (captions_) {
    captions_->keep(row, caption_number(row, draw),
                    place.ids.first(static_cast<size_t>(*place.length)));
  }
  StageCounters::add(memory.counters.tokenize, seconds_between(begin, StageClock::now()));
}

bool SampleMaker::find_picture(int64_t row, const SamplePlace& place, SampleMemory& memory) const {
  if (!cache_) return false;
  const void* stored = cache_->find(row);
  if (stored == nullptr) return false;
  const StageClock::time_point begin = StageClock::now();
  expand_pixels(options_.cache.type, stored, options_.transform, place.pixels);
  StageCounters::add(memory.counters.transform, seconds_between(begin, StageClock::now()));
  StageCounters::add(memory.counters.cache_hits, int64_t{1});
  return true;
}

void SampleMaker::make_picture(int64_t row, const SampleTask& task, SampleMemory& memory) const {
  const Example& example = memory.example;
  DeviceJob job;
  job.decode = options_.decode;
  job.decode.apply_exif_orientation = options_.exif_orientation == ExifOrientation::kOn ||
                                      (options_.exif_orientation == ExifOrientation::kAuto &&
                                       example.image_kind == ImageKind::kImageFeature);
  job.transform = options_.transform;
  job.transform.semantics =
      resolve(job.transform.semantics, example.image_kind == ImageKind::kPath);
  job.place = {PixelType::kFloat32, task.place.pixels.data()};
  if (task.device != nullptr) {
    if (task.device->offer(*device(), task.number, example.encoded, job)) return;
    StageCounters::add(memory.counters.device_unsupported, int64_t{1});
  }
  PictureTimes times;
  if (cache_) {
    make_cached_picture(row, job, task.place, memory, times);
  } else {
    AugmentationDraw draw;
    const bool changed = options_.augmentation.any();
    if (changed) {
      draw = {options_.augmentation,
              mix_key(mix_key(options_.seed, static_cast<uint64_t>(task.epoch)),
                      static_cast<uint64_t>(row))};
    }
    prepare_picture(example.encoded, job.decode, job.transform, changed ? &draw : nullptr,
                    memory.transform, job.place, &times);
  }
  StageCounters::add(memory.counters.decode, times.decode);
  StageCounters::add(memory.counters.transform, times.transform);
}

// Made in the cache's memory, or, where it has none, in the thread's own: either way the batch gets
// the stored values, so that every epoch has the same bytes.
void SampleMaker::make_cached_picture(int64_t row, const DeviceJob& job, const SamplePlace& place,
                                      SampleMemory& memory, PictureTimes& times) const {
  const PixelType type = options_.cache.type;
  void* reserved = cache_->reserve(row);
  const uint64_t stamp = reserved == nullptr ? 0 : stamp_of(memory.example);
  void* stored = reserved;
  if (reserved == nullptr) {
    if (type == PixelType::kFloat32) {
      stored = place.pixels.data();
    } else {
      memory.picture.resize(place.pixels.size() * pixel_bytes(type));
      stored = memory.picture.data();
    }
  }
  try {
    prepare_picture(memory.example.encoded, job.decode, job.transform, nullptr, memory.transform,
                    {type, stored}, &times);
  } catch (...) {
    if (reserved != nullptr) cache_->drop(row);
    throw;
  }
  if (reserved != nullptr) cache_->keep(row, stamp);
  if (stored == place.pixels.data()) return;
  const StageClock::time_point begin = StageClock::now();
  expand_pixels(type, stored, job.transform, place.pixels);
  times.transform += seconds_between(begin, StageClock::now());
}

// A source that cannot count the captions of a row fails in the same way whichever is drawn.
SampleMaker::BadKey SampleMaker::bad_key(int64_t row, int64_t epoch) const {
  try {
    return {row, caption_number(row, caption_draw(row, epoch))};
  } catch (const Error&) {
    return {row, 0};
  }
}

bool SampleMaker::known_bad(int64_t row, int64_t epoch) const {
  if (!any_bad_.load(std::memory_order_acquire)) return false;
  const BadKey key = bad_key(row, epoch);
  const std::shared_lock lock(bad_mutex_);
  return bad_.contains(key);
}

void SampleMaker::remember_bad(int64_t row, int64_t epoch, const std::string& reason) const {
  const BadKey key = bad_key(row, epoch);
  const std::lock_guard lock(bad_mutex_);
  bad_.emplace(key, reason);
  any_bad_.store(true, std::memory_order_release);
}

std::string SampleMaker::reason(int64_t row, int64_t epoch) const {
  const BadKey key = bad_key(row, epoch);
  const std::shared_lock lock(bad_mutex_);
  const auto found = bad_.find(key);
  return found == bad_.end() ? std::string() : found->second;
}

}  // namespace cantilever
