// Counts what the loader asks of the heap. This file replaces malloc (which operator new calls) for
// the whole test binary; under a sanitizer, which has its own, its hook is used.

#include <gtest/gtest.h>

#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <thread>

#include "tests/data/image/encoders.h"
#include "tests/data/loader/support.h"

namespace {

std::atomic<bool> g_counting{false};
std::atomic<int64_t> g_allocations{0};

void note_allocation() {
  if (g_counting.load(std::memory_order_relaxed)) g_allocations.fetch_add(1);
}

}  // namespace

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
extern "C" void __sanitizer_malloc_hook(const volatile void*, size_t) {
  note_allocation();
}
#else
extern "C" {
// glibc's own names for the functions that are replaced here.
void* __libc_malloc(size_t size);
void* __libc_calloc(size_t count, size_t size);
void* __libc_realloc(void* old, size_t size);
void* __libc_memalign(size_t alignment, size_t size);

void* malloc(size_t size) {
  note_allocation();
  return __libc_malloc(size);
}
void* calloc(size_t count, size_t size) {
  note_allocation();
  return __libc_calloc(count, size);
}
void* realloc(void* old, size_t size) {
  note_allocation();
  return __libc_realloc(old, size);
}
void* aligned_alloc(size_t alignment, size_t size) {
  note_allocation();
  return __libc_memalign(alignment, size);
}
int posix_memalign(void** place, size_t alignment, size_t size) {
  note_allocation();
  *place = __libc_memalign(alignment, size);
  return *place == nullptr ? ENOMEM : 0;
}
}
#endif

namespace cantilever {
namespace {

// Rows are views of pictures in memory, of a few sizes each.
class JpegSource final : public ExampleSource {
 public:
  explicit JpegSource(int64_t rows) : rows_(rows) {
    for (int i = 0; i < 5; ++i) {
      const int width = 60 + 16 * i;
      const int height = 80 - 10 * i;
      std::vector<uint8_t> pixels(static_cast<size_t>(width * height * 3));
      for (size_t at = 0; at < pixels.size(); ++at) {
        pixels[at] = static_cast<uint8_t>(at * 5 + at / 97 * static_cast<size_t>(i + 1));
      }
      pictures_.push_back(test::encode_jpeg(pixels, width, height));
    }
  }

  int64_t size() const override { return rows_; }
  void read(int64_t row, uint64_t draw, Example& example) const override {
    example.row = row;
    read_caption(row, draw, example.caption);
    example.encoded = std::as_bytes(std::span(picture(row)));
  }
  void read_caption(int64_t row, uint64_t, std::string& caption) const override {
    caption = row % 2 == 0 ? "picture number of a certain length" : "picture";
  }
  uint64_t fingerprint() const override { return 1; }
  std::string description() const override { return "made"; }
  const test::Bytes& picture(int64_t row) const {
    return pictures_[static_cast<size_t>(row) % pictures_.size()];
  }

 private:
  int64_t rows_;
  std::vector<test::Bytes> pictures_;
};

int64_t allocations_of(const std::function<void()>& work) {
  g_allocations = 0;
  g_counting = true;
  work();
  g_counting = false;
  return g_allocations;
}

TEST(Allocations, AreCounted) {
  // Calls that the compiler may not leave out.
  EXPECT_EQ(allocations_of([] { ::operator delete(::operator new(10)); }), 1);
  void* (*volatile allocate)(size_t) = &std::malloc;
  EXPECT_EQ(allocations_of([&] { std::free(allocate(10)); }), 1);
  EXPECT_EQ(allocations_of([] {}), 0);
}

constexpr int64_t kRows = 60;  // 7 batches of 8 and a short one
constexpr int64_t kBatches = 8;

LoaderOptions options_for(int workers) {
  LoaderOptions options = test::loader_options(workers);
  options.batch_size = 8;
  return options;
}

// A thread warms up when it works: a loader is warm when all its threads have had pictures of all
// sizes and all slots a full batch.
void warm_up(BatchLoader& loader) {
  for (int64_t i = 0; i < 10 * kBatches; ++i) loader.next();
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
}

TEST(Allocations, NoneASampleOrBatch) {
  const auto source = std::make_shared<JpegSource>(kRows);
  for (const int workers : {0, 1, 2}) {
    for (const bool shuffle : {false, true}) {
      LoaderOptions options = options_for(workers);
      options.shuffle = shuffle;
      BatchLoader loader(source, test::tokenizer(), options);
      warm_up(loader);
      const int64_t found = allocations_of([&] {
        for (int64_t i = 0; i < 5 * kBatches; ++i) loader.next();
        loader.pause();
      });
      EXPECT_EQ(found, 0) << workers << " threads, shuffle " << shuffle;
    }
  }
}

TEST(Allocations, NoneWithCachesThatHoldEverything) {
  const auto source = std::make_shared<JpegSource>(kRows);
  for (const int workers : {0, 2}) {
    LoaderOptions options = options_for(workers);
    options.cache = {CacheTier::kRam, PixelType::kUint8, 1 << 20, {}};
    BatchLoader loader(source, test::tokenizer(), options);
    warm_up(loader);
    const int64_t found = allocations_of([&] {
      for (int64_t i = 0; i < 5 * kBatches; ++i) loader.next();
      loader.pause();
    });
    EXPECT_EQ(found, 0) << workers << " threads";
  }
}

TEST(Allocations, NoneForBadRowsThatAreKnown) {
  const auto source = std::make_shared<test::MadeSource>(kRows);
  source->missing = {3, 4, 17};
  LoaderOptions options = options_for(2);
  options.on_bad_sample = OnBadSample::kSkip;
  options.cache = {CacheTier::kRam, PixelType::kFloat32, 1 << 20, {}};
  BatchLoader loader(source, test::tokenizer(), options);
  warm_up(loader);
  const int64_t found = allocations_of([&] {
    for (int64_t i = 0; i < 5 * kBatches; ++i) loader.next();
    loader.pause();
  });
  EXPECT_EQ(found, 0);
}

}  // namespace
}  // namespace cantilever
