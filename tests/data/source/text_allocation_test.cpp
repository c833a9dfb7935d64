// A row of a text format, of a tar shard or of class folders that is read into an example used
// before asks nothing of the heap. Counted is operator new, which this file replaces for the whole
// test binary.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <new>

#include "cantilever/base/error.h"
#include "cantilever/base/log.h"
#include "tests/data/source/table_files.h"
#include "tests/data/source/tar_files.h"

namespace {

std::atomic<int64_t> g_news{0};

}  // namespace

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool kCounted = false;  // sanitizers have their own operator new
#else
constexpr bool kCounted = true;

// Not inlined: the compiler would see a free() of what operator new gave.
[[gnu::noinline]] void* operator new(size_t size) {
  g_news.fetch_add(1, std::memory_order_relaxed);
  void* memory = std::malloc(size > 0 ? size : 1);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}
[[gnu::noinline]] void operator delete(void* memory) noexcept {
  std::free(memory);
}
[[gnu::noinline]] void operator delete(void* memory, size_t) noexcept {
  std::free(memory);
}
#endif

namespace cantilever {
namespace {

using test::write_text;

class TextAllocations : public testing::Test {
 protected:
  void SetUp() override {
    if (!kCounted) GTEST_SKIP() << "allocations are counted without sanitizers";
    set_log_level(LogLevel::kError);
    for (int i = 0; i < kRows; ++i) {
      write_text(folder_ / picture(i), std::string(static_cast<size_t>(100 + i), 'p'));
    }
  }
  void TearDown() override { set_log_level(LogLevel::kInfo); }

  static std::string picture(int i) { return concat("pictures/of_some_length/", i, ".png"); }
  static std::string caption(int i) {
    return concat("a caption that does not fit into a string without memory, row ", i);
  }

  void expect_none(const std::string& path, const std::string& image = "image_path",
                   const std::string& caption_column = "caption",
                   CaptionChoice choice = CaptionChoice::kAuto) {
    SourceOptions options = test::source_options(image, caption_column);
    options.caption_choice = choice;
    const auto source = open_source(folder_ / path, options);
    ASSERT_GE(source->size(), kRows) << path;
    Example example;
    std::string text;
    const auto pass = [&] {
      for (int64_t row = 0; row < source->size(); ++row) {
        source->read(row, static_cast<uint64_t>(row), example);
        source->read_caption(row, 1, text);
      }
    };
    pass();
    const int64_t before = g_news;
    pass();
    EXPECT_EQ(g_news - before, 0) << path;
  }

  static constexpr int kRows = 40;
  test::TemporaryFolder folder_;
};

TEST_F(TextAllocations, TheCounterCounts) {
  const int64_t before = g_news;
  ::operator delete(::operator new(10));
  EXPECT_EQ(g_news - before, 1);
}

TEST_F(TextAllocations, Tables) {
  std::string json;
  std::string csv = "image_path,caption\n";
  std::string token;
  for (int i = 0; i < kRows; ++i) {
    json += concat("{\"image_path\": \"", picture(i), "\", \"caption\": [\"", caption(i),
                   "\", \"caf\\u00e9 \\\"", caption(i), "\\\"\"], \"more\": [1, {\"x\": null}]}\n");
    csv += concat(picture(i), ",\"", caption(i), ", \"\"quoted\"\"\"\n");
    for (int k = 0; k < 2; ++k) token += concat(picture(i), "#", k, "\t", caption(i), "\n");
  }
  write_text(folder_ / "rows.jsonl", json);
  write_text(folder_ / "rows.csv", csv);
  write_text(folder_ / "rows.token", token);
  expect_none("rows.jsonl");
  expect_none("rows.jsonl", "image_path", "caption", CaptionChoice::kAll);
  expect_none("rows.csv");
  expect_none("rows.token");
  expect_none("rows.token", "image", "caption", CaptionChoice::kRandom);
}

TEST_F(TextAllocations, CocoTarAndClassFolders) {
  std::string images;
  std::string annotations;
  std::string tar;
  for (int i = 0; i < kRows; ++i) {
    const char* comma = i == 0 ? "" : ", ";
    images += concat(comma, "{\"id\": ", i, ", \"file_name\": \"", i, ".png\"}");
    annotations += concat(comma, "{\"image_id\": ", i, ", \"caption\": \"", caption(i), "\"}");
    tar += test::tar_member(concat("folder/of/samples/", i, ".jpg"), "picture");
    tar += i % 2 == 0 ? test::tar_member(concat("folder/of/samples/", i, ".txt"), caption(i))
                      : test::tar_member(concat("folder/of/samples/", i, ".json"),
                                         "{\"caption\": \"" + caption(i) + "\"}");
  }
  write_text(folder_ / "pictures/coco.json",
             "{\"images\": [" + images + "], \"annotations\": [" + annotations + "]}");
  write_text(folder_ / "shard.tar", tar + test::tar_end());
  expect_none("pictures/coco.json");
  expect_none("shard.tar");
  std::filesystem::remove(folder_ / "pictures/coco.json");
  expect_none("pictures", "image", "label");
}

}  // namespace
}  // namespace cantilever
