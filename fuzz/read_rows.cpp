#include "fuzz/read_rows.h"

#include <algorithm>

#include "cantilever/base/error.h"
#include "cantilever/data/source/open_source.h"
#include "fuzz/fuzz.h"

namespace cantilever::fuzz {
namespace {

constexpr int64_t kMostRows = 40;

}  // namespace

void read_as_set(const std::filesystem::path& path) {
  for (const CaptionChoice choice : {CaptionChoice::kAuto, CaptionChoice::kAll}) {
    expect_error_or_success([&] {
      SourceOptions options;
      options.image_column = "image";
      options.caption_choice = choice;
      const auto source = open_source(path, options);
      Example example;
      std::string caption;
      const int64_t rows = std::min(source->size(), kMostRows);
      for (int64_t row = 0; row < rows; ++row) {
        expect_error_or_success([&] {
          source->read(row, static_cast<uint64_t>(row), example);
          touch(example.encoded);
        });
        expect_error_or_success([&] { source->read_caption(row, 1, caption); });
        expect_error_or_success([&] { source->place(row); });
      }
    });
  }
}

}  // namespace cantilever::fuzz
