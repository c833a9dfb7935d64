#include "cantilever/data/loader/batch_loader.h"

#include <algorithm>
#include <array>
#include <condition_variable>
#include <thread>
#include <unordered_set>

#include "cantilever/base/cpus.h"
#include "cantilever/base/error.h"
#include "cantilever/base/log.h"
#include "cantilever/data/loader/batch_slot.h"
#include "cantilever/data/loader/loader_team.h"
#include "cantilever/data/loader/sample_maker.h"
#include "cantilever/data/loader/worker_controller.h"

namespace cantilever {
namespace {

constexpr int kMostWorkers = 1024;
constexpr int kMostAutoWorkers = 64;
constexpr std::chrono::milliseconds kPatience{700};  // at the end, for reads in progress

void check_options(const LoaderOptions& options, bool has_text) {
  CANTILEVER_CHECK(!has_text || options.max_seq_length >= 2, "the text length is ",
                   options.max_seq_length,
                   " (--max_seq_length); it must be at least 2, for <s> and </s>");
  CANTILEVER_CHECK(options.transform.side >= 1, "the picture side is ", options.transform.side);
  CANTILEVER_CHECK(options.num_workers == kAutoWorkers ||
                       (options.num_workers >= 0 && options.num_workers <= kMostWorkers),
                   "the number of loader threads is ", options.num_workers,
                   " (--dataloader_num_workers); 0 to ", kMostWorkers, " and auto are possible");
}

// Threads that may run at a time.
int most_threads(const LoaderOptions& options) {
  if (options.num_workers != kAutoWorkers) return options.num_workers;
  return std::min(allowed_cpus(), kMostAutoWorkers);
}

// With two CPUs one thread is the useful start: the trainer has the other one.
int first_threads(int most) {
  return std::clamp(most / 2, 1, 4);
}

size_t ring_size(const LoaderOptions& options) {
  // One batch more, for the one in the consumer's hands.
  return options.num_workers == 0 ? 1
                                  : static_cast<size_t>(std::max<int64_t>(1, options.prefetch)) + 1;
}

}  // namespace

// Batches are numbered from the last seek on; number n is built in slot n modulo the ring's size.
// The consumer holds number `next_number - 1`, threads work on later ones, the oldest first: a
// ticket is a sample, and batch n has the tickets from n * stride on. A short batch has as many
// tickets as the others, some without a sample.
struct BatchLoader::State {
  State(std::shared_ptr<const ExampleSource> rows, std::shared_ptr<const Tokenizer> tokens,
        const LoaderOptions& chosen)
      : options(chosen),
        source(std::move(rows)),
        order(source->size(), chosen.batch_size, chosen.seed, chosen.shuffle, chosen.drop_last),
        maker(source, std::move(tokens), chosen),
        stride(std::max<int64_t>(1, std::min(chosen.batch_size, source->size()))),
        slots(ring_size(chosen)),
        counters(static_cast<size_t>(most_threads(chosen)) + 1),
        memories(counters.size()),
        team([this](int worker) { return work(static_cast<size_t>(worker)); }),
        controller(first_threads(most_threads(chosen)), std::max(1, most_threads(chosen))) {}

  bool alone() const { return options.num_workers == 0; }
  BatchSlot& slot(int64_t number) { return slots[static_cast<size_t>(number) % slots.size()]; }

  // The memory of a worker, made by itself; the last one is the consumer's.
  SampleMemory& memory_of(size_t worker) {
    if (!memories[worker]) memories[worker] = std::make_unique<SampleMemory>(counters[worker]);
    return *memories[worker];
  }

  // ---- threads ----

  bool work(size_t worker) {
    SampleMemory& memory = memory_of(worker);
    if (waiting_again.load(std::memory_order_acquire) > 0 && make_again(memory)) return true;
    if (epoch_ahead.load(std::memory_order_relaxed) >= 0) {
      const int64_t epoch = epoch_ahead.exchange(-1);
      if (epoch >= 0) prepare_order(epoch);
      return true;
    }
    const int64_t ticket = tickets.take();
    if (ticket < 0) return false;
    BatchSlot& mine = slot(ticket / stride);
    const int64_t sample = ticket % stride;
    if (sample < mine.size()) mine.make(sample, maker, memory, abandon);
    if (maker.device() == nullptr) {
      finish(mine, 1);
    } else if (mine.fetched.fetch_add(1, std::memory_order_acq_rel) + 1 == stride) {
      run_device(mine, memory);
    }
    return true;
  }

  void prepare_order(int64_t epoch) const {
    try {
      order.prepare(epoch);
    } catch (const std::exception&) {
      // No memory: the consumer meets it when it needs the order, and reports it.
    }
  }

  void finish(BatchSlot& mine, int64_t samples) {
    if (mine.done.fetch_add(samples, std::memory_order_acq_rel) + samples != stride) return;
    const std::lock_guard lock(mutex);
    batch_changed.notify_one();
  }

  // All samples of the batch are fetched; this thread lets the device decode them.
  void run_device(BatchSlot& mine, SampleMemory& memory) {
    int64_t rest = 0;
    {
      const std::lock_guard device_lock(device_mutex);
      if (abandon.load(std::memory_order_relaxed)) return;
      mine.run_device(*maker.device(), device_rest, memory.counters);
      rest = static_cast<int64_t>(device_rest.size());
      const std::lock_guard lock(mutex);
      for (const int64_t sample : device_rest) again.push_back({&mine, sample});
      waiting_again.store(static_cast<int64_t>(again.size()), std::memory_order_release);
    }
    if (rest > 0) team.wake();
    if (rest < stride) finish(mine, stride - rest);
  }

  // Makes one picture that the device left to the host.
  bool make_again(SampleMemory& memory) {
    Again one;
    {
      const std::lock_guard lock(mutex);
      if (again.empty()) return false;
      one = again.front();
      again.erase(again.begin());
      waiting_again.store(static_cast<int64_t>(again.size()), std::memory_order_release);
    }
    one.slot->make_again(one.sample, maker, memory, abandon);
    finish(*one.slot, 1);
    return true;
  }

  // ---- consumer ----

  void prepare(int64_t number) {
    const int64_t per_epoch = order.batches_per_epoch();
    const int64_t position = start_index + number;
    const int64_t epoch = start_epoch + position / per_epoch;
    const int64_t index = position % per_epoch;
    slot(number).prepare(epoch, index, order, options, maker.has_text());
    if (index == 0 && !alone() && !is_end(epoch + 1)) epoch_ahead = epoch + 1;
  }

  bool is_end(int64_t epoch) const { return options.end_epoch > 0 && epoch >= options.end_epoch; }
  bool exists(int64_t number) const {
    return !is_end(start_epoch + (start_index + number) / order.batches_per_epoch());
  }

  // Gives free slots to further batches. The batch delivered last is given up.
  void open_batches() {
    const int64_t before = prepared;
    while (prepared - next_number < static_cast<int64_t>(slots.size()) && exists(prepared)) {
      prepare(prepared);
      ++prepared;
    }
    if (prepared == before) return;
    tickets.open(prepared * stride);
    team.wake();
  }

  // Ends what is in work and forgets what was made ahead.
  void give_up() {
    abandon = true;  // ends the search for usable rows
    team.hold();
    abandon = false;
    started = false;
    tickets.reset();
    again.clear();
    waiting_again = 0;
    epoch_ahead = -1;
  }

  void restart(int64_t epoch, int64_t index) {
    give_up();
    start_epoch = epoch;
    start_index = index;
    next_number = prepared = 0;
    if (!alone()) open_batches();
    started = true;
    team.release();
  }

  // Builds the next batch in the calling thread.
  void build_here() {
    prepare(next_number);
    BatchSlot& mine = slot(next_number);
    SampleMemory& memory = memory_of(memories.size() - 1);
    for (int64_t i = 0; i < mine.size(); ++i) mine.make(i, maker, memory, abandon);
    if (maker.device() == nullptr) return;
    mine.run_device(*maker.device(), device_rest, memory.counters);
    for (const int64_t sample : device_rest) mine.make_again(sample, maker, memory, abandon);
  }

  void await_batch() {
    open_batches();
    const BatchSlot& mine = slot(next_number);
    const auto finished = [&] { return mine.done.load(std::memory_order_acquire) == stride; };
    if (finished()) return;
    std::unique_lock lock(mutex);
    batch_changed.wait(lock, finished);
  }

  void count(const BatchSlot& delivered, double waited) {
    StageCounters::add(images, delivered.size());
    StageCounters::add(batches, int64_t{1});
    if (options.num_workers == kAutoWorkers) steer(delivered.size(), waited);
    if (!delivered.any_passed()) return;
    for (int64_t i = 0; i < delivered.size(); ++i) {
      for (int64_t step = 0; step < delivered.passed(i); ++step) {
        const int64_t row = (delivered.wanted_row(i) + step) % source->size();
        if (reported_rows.insert(row).second) {
          reported.push_back({row, maker.reason(row, delivered.batch().epoch)});
        }
      }
    }
    bad_rows.store(static_cast<int64_t>(reported.size()), std::memory_order_relaxed);
  }

  // Tells the controller what happened, window by window. Batches that were made ahead before the
  // last change say nothing about it.
  void steer(int64_t size, double waited) {
    constexpr double kWindowSeconds = 0.5;
    const StageClock::time_point now = StageClock::now();
    if (++window_batches <= static_cast<int64_t>(slots.size())) {
      window = {};
      window_begin = now;
      return;
    }
    window.images += size;
    window.wait_seconds += waited;
    window.seconds = seconds_between(window_begin, now);
    const auto enough = 3 * static_cast<int64_t>(slots.size());
    if (window.seconds < kWindowSeconds || window_batches < enough) return;
    const int before = controller.threads();
    const int threads = controller.decide(window);
    const double share = window.wait_seconds / window.seconds;
    window = {};
    window_begin = now;
    window_batches = threads == before ? static_cast<int64_t>(slots.size()) : 0;
    if (threads != before) change_threads(threads);
    if (controller.settled() && !announced) {
      announced = true;
      log_info(concat("loader: ", threads, threads == 1 ? " thread" : " threads",
                      " (auto, at most ", most_threads(options), "); the consumer waited ",
                      static_cast<int>(share * 1000) / 10.0, " % of the time"));
    }
  }

  void change_threads(int threads) {
    try {
      team.use(threads, self.lock());
    } catch (const std::system_error& error) {
      warn_once("loader threads",
                concat("no further loader thread can be started: ", error.what()));
    }
  }

  void stop() noexcept {
    abandon = true;
    const int left = team.stop(kPatience);
    if (left == 0) return;
    try {
      log_warning(concat(left, " loader thread(s) still wait for a read of ", source->description(),
                         "; they end when it does"));
    } catch (const std::exception&) {
      // The destructor has nobody to tell.
    }
  }

  const LoaderOptions options;
  const std::shared_ptr<const ExampleSource> source;
  const SampleOrder order;
  const SampleMaker maker;
  const int64_t stride;  // tickets of a batch
  std::weak_ptr<State> self;

  // Shared by the threads.
  std::vector<BatchSlot> slots;
  std::vector<StageCounters> counters;
  std::vector<std::unique_ptr<SampleMemory>> memories;
  Tickets tickets;
  std::atomic<bool> abandon{false};
  std::atomic<int64_t> epoch_ahead{-1};   // whose order is to be computed
  std::atomic<int64_t> waiting_again{0};  // again.size(), to look at without the lock
  std::mutex device_mutex;                // guards the device and device_rest
  std::vector<int64_t> device_rest;
  std::mutex mutex;                       // guards `again`
  std::condition_variable batch_changed;  // a batch is finished
  struct Again {
    BatchSlot* slot = nullptr;
    int64_t sample = 0;
  };
  std::vector<Again> again;  // samples that the device left to the host, oldest first

  // Of the consumer; counters may be read by any thread.
  LoaderTeam team;
  WorkerController controller;
  WorkerController::Window window;
  StageClock::time_point window_begin;
  int64_t window_batches = 0;  // since the number of threads changed
  bool announced = false;
  int64_t start_epoch = 0;
  int64_t start_index = 0;
  int64_t next_number = 0;  // the batch that next() returns next
  int64_t prepared = 0;     // batches that have a slot, counted from 0
  bool started = false;
  std::vector<BadSample> reported;
  std::unordered_set<int64_t> reported_rows;
  std::atomic<int64_t> images{0};
  std::atomic<int64_t> batches{0};
  std::atomic<int64_t> bad_rows{0};
  std::atomic<double> waited_seconds{0};
  std::atomic<StageClock::time_point> first_next{StageClock::time_point{}};
};

BatchLoader::BatchLoader(std::shared_ptr<const ExampleSource> source,
                         std::shared_ptr<const Tokenizer> tokenizer, const LoaderOptions& options) {
  check_options(options, tokenizer != nullptr);
  state_ = std::make_shared<State>(std::move(source), std::move(tokenizer), options);
  state_->self = state_;
  if (state_->alone()) return;
  try {
    state_->team.use(
        options.num_workers == kAutoWorkers ? state_->controller.threads() : options.num_workers,
        state_);
  } catch (...) {
    state_->stop();
    throw;
  }
}

BatchLoader::~BatchLoader() {
  state_->stop();
}

int64_t BatchLoader::batches_per_epoch() const {
  return state_->order.batches_per_epoch();
}

void BatchLoader::seek(int64_t epoch, int64_t index) {
  CANTILEVER_CHECK(epoch >= 0 && index >= 0, "there is no batch ", index, " of epoch ", epoch);
  CANTILEVER_CHECK(batches_per_epoch() > 0, state_->source->description(),
                   ": there are too few rows for a batch of ", state_->options.batch_size, " (",
                   state_->source->size(),
                   state_->options.drop_last
                       ? " rows, and --dataloader_drop_last drops a short batch)"
                       : " rows)");
  state_->restart(epoch, index);
}

void BatchLoader::pause() {
  if (!state_->started) return;
  state_->give_up();
  state_->start_index += state_->next_number;
  state_->next_number = state_->prepared = 0;
}

const Batch& BatchLoader::next() {
  State& state = *state_;
  const StageClock::time_point begin = StageClock::now();
  if (state.first_next.load() == StageClock::time_point{}) state.first_next = begin;
  if (!state.started) seek(state.start_epoch, state.start_index);
  CANTILEVER_ASSERT(state.exists(state.next_number), "a batch of epoch ", state.options.end_epoch,
                    ", where the loader ends");
  if (state.alone()) {
    state.build_here();
  } else {
    state.await_batch();
  }
  const double waited = seconds_between(begin, StageClock::now());
  StageCounters::add(state.waited_seconds, waited);
  BatchSlot& slot = state.slot(state.next_number);
  slot.check();  // the position stays: a bad batch fails again
  state.count(slot, waited);
  ++state.next_number;
  return slot.batch();
}

LoaderStatistics BatchLoader::statistics() const {
  LoaderStatistics found;
  const State& state = *state_;
  found.images = state.images.load();
  found.batches = state.batches.load();
  const StageClock::time_point first = state.first_next.load();
  if (first != StageClock::time_point{}) found.seconds = seconds_between(first, StageClock::now());
  found.wait_seconds = state.waited_seconds.load();
  for (const StageCounters& one : state.counters) {
    found.read_seconds += one.read.load();
    found.decode_seconds += one.decode.load();
    found.transform_seconds += one.transform.load();
    found.tokenize_seconds += one.tokenize.load();
    found.device_seconds += one.device.load();
    found.cache_hits += one.cache_hits.load();
    found.caption_hits += one.caption_hits.load();
    found.device_images += one.device_images.load();
    found.device_unsupported += one.device_unsupported.load();
    found.device_failed += one.device_failed.load();
  }
  found.bad_rows = state.bad_rows.load();
  found.threads = state.team.threads();
  return found;
}

std::string LoaderStatistics::slowest_stage() const {
  const std::array<std::pair<double, const char*>, 5> stages = {{{read_seconds, "read"},
                                                                 {decode_seconds, "decode"},
                                                                 {transform_seconds, "transform"},
                                                                 {tokenize_seconds, "tokenize"},
                                                                 {device_seconds, "device"}}};
  return std::max_element(stages.begin(), stages.end())->second;
}

double LoaderStatistics::wait_share() const {
  return seconds > 0 ? std::min(1.0, wait_seconds / seconds) : 0.0;
}

double BatchLoader::wait_seconds() const {
  return state_->waited_seconds.load();
}

const std::vector<BadSample>& BatchLoader::bad_samples() const {
  return state_->reported;
}

}  // namespace cantilever
