#include "cantilever/data/loader/batch_loader.h"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <thread>
#include <unordered_set>

#include "cantilever/base/error.h"
#include "cantilever/data/loader/batch_slot.h"
#include "cantilever/data/loader/sample_maker.h"

namespace cantilever {
namespace {

using Clock = std::chrono::steady_clock;

void check_options(const LoaderOptions& options) {
  CANTILEVER_CHECK(options.max_seq_length >= 2, "the text length is ", options.max_seq_length,
                   " (--max_seq_length); it must be at least 2, for <s> and </s>");
  CANTILEVER_CHECK(options.transform.side >= 1, "the picture side is ", options.transform.side);
  CANTILEVER_CHECK(options.num_workers >= 0 && options.num_workers <= 1024, "the number of loader ",
                   "threads is ", options.num_workers,
                   " (--dataloader_num_workers); 0 to 1024 are possible");
}

}  // namespace

// Batches are numbered from the last seek on; number n is built in slot n modulo the ring's size.
// The consumer holds number `next_ - 1`, threads work on `next_` and later, the oldest first.
struct BatchLoader::State {
  State(std::shared_ptr<const ExampleSource> rows, std::shared_ptr<const Tokenizer> tokens,
        const LoaderOptions& chosen)
      : options(chosen),
        source(std::move(rows)),
        order(source->size(), chosen.batch_size, chosen.seed, chosen.shuffle, chosen.drop_last),
        maker(source, std::move(tokens), chosen),
        slots(chosen.num_workers == 0
                  ? 1
                  : static_cast<size_t>(std::max<int64_t>(1, chosen.prefetch)) + 1) {}

  BatchSlot& slot(int64_t number) { return slots[static_cast<size_t>(number) % slots.size()]; }

  void prepare(int64_t number) {
    const int64_t per_epoch = order.batches_per_epoch();
    const int64_t position = start_index + number;
    const int64_t epoch = start_epoch + position / per_epoch;
    slot(number).prepare(epoch, position % per_epoch, order.batch(epoch, position % per_epoch),
                         options);
  }

  // Whether there is a sample to take; makes the next batch ready for it. Called with the mutex
  // held.
  bool find_work() {
    if (!started || failed) return false;
    if (open < prepared && slot(open).claimed == slot(open).size()) ++open;
    if (open < prepared) return true;
    // The slot of the batch that the consumer holds is not free yet.
    const int64_t oldest_held = std::max<int64_t>(0, next_number - 1);
    if (prepared - oldest_held >= static_cast<int64_t>(slots.size())) return false;
    prepare(prepared);
    ++prepared;
    return true;
  }

  void work() {
    TransformScratch scratch;
    std::unique_lock lock(mutex);
    for (;;) {
      bool found = false;
      work_changed.wait(lock, [&] {
        if (stopping) return true;
        try {
          found = find_work();
        } catch (...) {
          failed = std::current_exception();
          batch_changed.notify_all();
        }
        return found;
      });
      if (stopping) return;
      BatchSlot& mine = slot(open);
      const int64_t sample = mine.claimed++;
      ++active;
      lock.unlock();
      mine.make(sample, maker, scratch, abandon);
      lock.lock();
      --active;
      if (++mine.done == mine.size() || active == 0) batch_changed.notify_all();
    }
  }

  void start_threads() {
    for (int i = 0; i < options.num_workers; ++i) threads.emplace_back([this] { work(); });
  }

  // Waits until no thread touches a slot, then starts at a position.
  void restart(int64_t epoch, int64_t index) {
    std::unique_lock lock(mutex);
    started = false;
    abandon = true;  // ends the search for usable rows
    batch_changed.wait(lock, [&] { return active == 0; });
    abandon = false;
    failed = nullptr;
    start_epoch = epoch;
    start_index = index;
    next_number = prepared = open = 0;
    started = true;
    work_changed.notify_all();
  }

  // Builds the next batch in the calling thread.
  void build_here() {
    prepare(next_number);
    BatchSlot& mine = slot(next_number);
    for (int64_t i = 0; i < mine.size(); ++i) mine.make(i, maker, own_scratch, abandon);
  }

  void await_batch() {
    std::unique_lock lock(mutex);
    batch_changed.wait(lock, [&] {
      return failed ||
             (next_number < prepared && slot(next_number).done == slot(next_number).size());
    });
    if (failed) std::rethrow_exception(failed);
  }

  // The batch delivered before is given up: its slot is free for the threads.
  void deliver() {
    {
      const std::lock_guard lock(mutex);
      ++next_number;
    }
    work_changed.notify_all();
  }

  void report_bad(const BatchSlot& delivered) {
    for (int64_t i = 0; i < delivered.size(); ++i) {
      for (const BadSample& sample : delivered.bad(i)) {
        if (reported_rows.insert(sample.row).second) reported.push_back(sample);
      }
    }
  }

  void stop() {
    {
      const std::lock_guard lock(mutex);
      stopping = true;
      abandon = true;
    }
    work_changed.notify_all();
    for (std::thread& thread : threads) thread.join();
  }

  const LoaderOptions options;
  const std::shared_ptr<const ExampleSource> source;
  const SampleOrder order;
  const SampleMaker maker;
  double waited_seconds = 0;
  std::vector<BadSample> reported;
  std::unordered_set<int64_t> reported_rows;
  TransformScratch own_scratch;  // of the calling thread
  std::atomic<bool> abandon{false};

  std::mutex mutex;                       // guards everything below
  std::condition_variable work_changed;   // there may be a sample to take
  std::condition_variable batch_changed;  // a batch may be finished, or all threads idle
  std::vector<BatchSlot> slots;
  int64_t start_epoch = 0;
  int64_t start_index = 0;
  int64_t next_number = 0;  // the batch that next() returns next
  int64_t prepared = 0;     // batches that have a slot, counted from 0
  int64_t open = 0;         // the oldest batch with unclaimed samples
  int active = 0;           // threads that make a sample now
  bool started = false;
  bool stopping = false;
  std::exception_ptr failed;  // of the loader itself
  std::vector<std::thread> threads;
};

BatchLoader::BatchLoader(std::shared_ptr<const ExampleSource> source,
                         std::shared_ptr<const Tokenizer> tokenizer, const LoaderOptions& options) {
  check_options(options);
  state_ = std::make_unique<State>(std::move(source), std::move(tokenizer), options);
  try {
    state_->start_threads();
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

const Batch& BatchLoader::next() {
  if (!state_->started) seek(0, 0);
  const Clock::time_point begin = Clock::now();
  if (state_->options.num_workers == 0) {
    state_->build_here();
  } else {
    state_->await_batch();
  }
  state_->waited_seconds += std::chrono::duration<double>(Clock::now() - begin).count();
  BatchSlot& slot = state_->slot(state_->next_number);
  slot.check();  // the position stays: a bad batch fails again
  state_->report_bad(slot);
  state_->deliver();
  return slot.batch();
}

LoaderStatistics BatchLoader::statistics() const {
  LoaderStatistics found;
  found.wait_seconds = state_->waited_seconds;
  return found;
}

std::string LoaderStatistics::slowest_stage() const {
  const std::pair<double, const char*> stages[] = {{read_seconds, "read"},
                                                   {decode_seconds, "decode"},
                                                   {transform_seconds, "transform"},
                                                   {tokenize_seconds, "tokenize"}};
  return std::max_element(std::begin(stages), std::end(stages))->second;
}

double BatchLoader::wait_seconds() const {
  return state_->waited_seconds;
}

const std::vector<BadSample>& BatchLoader::bad_samples() const {
  return state_->reported;
}

}  // namespace cantilever
