// A row that is read into an example used before asks nothing of the heap. This file replaces
// malloc (which operator new calls) for the whole test binary; under a sanitizer, which has its
// own, its hook is used.

#include <arrow/io/file.h>
#include <arrow/ipc/writer.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <functional>

#include "cantilever/base/error.h"
#include "tests/data/source/parquet_files.h"
#include "tests/data/source/table_files.h"

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
void* __libc_malloc(size_t size);  // glibc's own name for what is replaced here

void* malloc(size_t size) {
  note_allocation();
  return __libc_malloc(size);
}
}
#endif

namespace cantilever {
namespace {

int64_t allocations_of(const std::function<void()>& work) {
  g_allocations = 0;
  g_counting = true;
  work();
  g_counting = false;
  return g_allocations;
}

// Every row once to warm up, then all of them again.
int64_t allocations_of_second_pass(const ExampleSource& source) {
  Example example;
  std::string caption;
  const auto pass = [&] {
    for (int64_t row = 0; row < source.size(); ++row) {
      source.read(row, static_cast<uint64_t>(row), example);
      source.read_caption(row, 1, caption);
    }
  };
  pass();
  return allocations_of(pass);
}

std::shared_ptr<arrow::Array> caption_lists(int rows) {
  const auto values = std::make_shared<arrow::StringBuilder>();
  arrow::ListBuilder builder(arrow::default_memory_pool(), values);
  for (int row = 0; row < rows; ++row) {
    test::require(builder.Append());
    test::require(values->Append(concat("the first caption of a certain length, row ", row)));
    test::require(values->Append("another"));
  }
  return builder.Finish().ValueOrDie();
}

class ArrowAllocations : public testing::Test {
 protected:
  void SetUp() override {
    for (int row = 0; row < kRows; ++row) {
      pictures_.emplace_back(std::string(static_cast<size_t>(100 + row), 'p'));
      captions_.emplace_back(concat("a caption that does not fit into a string, row ", row));
    }
  }
  static constexpr int kRows = 60;

  test::TemporaryFolder folder_;
  test::Texts pictures_, captions_;
};

TEST_F(ArrowAllocations, TheCounterCounts) {
  EXPECT_EQ(allocations_of([] { ::operator delete(::operator new(10)); }), 1);
}

TEST_F(ArrowAllocations, Parquet) {
  const auto path = folder_ / "rows.parquet";
  for (const auto& captions : {test::strings(captions_), caption_lists(kRows)}) {
    test::write_parquet(path, {"image", "caption"},
                        {test::picture_structs(pictures_, captions_), captions}, 16);
    EXPECT_EQ(allocations_of_second_pass(*open_source(path, test::source_options("image"))), 0);
  }
}

TEST_F(ArrowAllocations, ArrowIpc) {
  const auto path = folder_ / "rows.arrow";
  for (const auto& captions : {test::strings(captions_), caption_lists(kRows)}) {
    const auto pictures = test::picture_structs(pictures_, captions_);
    const auto schema = arrow::schema(
        {arrow::field("image", pictures->type()), arrow::field("caption", captions->type())});
    const auto file = arrow::io::FileOutputStream::Open(path.string()).ValueOrDie();
    const auto writer = arrow::ipc::MakeStreamWriter(file, schema).ValueOrDie();
    test::require(writer->WriteTable(*arrow::Table::Make(schema, {pictures, captions}), 16));
    test::require(writer->Close());
    test::require(file->Close());
    EXPECT_EQ(allocations_of_second_pass(*open_source(path, test::source_options("image"))), 0);
  }
}

}  // namespace
}  // namespace cantilever
