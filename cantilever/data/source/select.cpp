#include <algorithm>
#include <numeric>

#include "cantilever/base/error.h"
#include "cantilever/base/rng.h"
#include "cantilever/data/source/example_source.h"

namespace cantilever {
namespace {

class SelectedSource final : public ExampleSource {
 public:
  SelectedSource(std::shared_ptr<ExampleSource> source, std::vector<int64_t> rows)
      : source_(std::move(source)), rows_(std::move(rows)) {
    for (const int64_t row : rows_) {
      CANTILEVER_CHECK(row >= 0 && row < source_->size(), "row ", row, " was selected of ",
                       source_->description(), ", which has rows 0 to ", source_->size() - 1);
    }
  }

  int64_t size() const override { return static_cast<int64_t>(rows_.size()); }

  void read(int64_t row, uint64_t draw, Example& example) const override {
    source_->read(source_row(row), draw, example);
    example.row = row;
  }

  void read_caption(int64_t row, uint64_t draw, std::string& caption) const override {
    source_->read_caption(source_row(row), draw, caption);
  }

  int64_t caption_count(int64_t row) const override {
    return source_->caption_count(source_row(row));
  }

  uint64_t fingerprint() const override {
    uint64_t sum = source_->fingerprint();
    for (const int64_t row : rows_) sum = mix_key(sum, static_cast<uint64_t>(row));
    return sum;
  }

  std::string place(int64_t row) const override { return source_->place(source_row(row)); }

  std::string description() const override {
    return concat(size(), " rows of ", source_->description());
  }

 private:
  int64_t source_row(int64_t row) const {
    CANTILEVER_CHECK(row >= 0 && row < size(), "there is no row ", row, ", only ", size());
    return rows_[static_cast<size_t>(row)];
  }

  std::shared_ptr<ExampleSource> source_;
  std::vector<int64_t> rows_;
};

}  // namespace

std::shared_ptr<ExampleSource> take_first(std::shared_ptr<ExampleSource> source, int64_t size) {
  CANTILEVER_CHECK(size >= 0, "the first ", size, " rows of a set were asked for");
  if (size >= source->size()) return source;
  std::vector<int64_t> rows(static_cast<size_t>(size));
  std::iota(rows.begin(), rows.end(), int64_t{0});
  return select_rows(std::move(source), std::move(rows));
}

std::shared_ptr<ExampleSource> select_rows(std::shared_ptr<ExampleSource> source,
                                           std::vector<int64_t> rows) {
  return std::make_shared<SelectedSource>(std::move(source), std::move(rows));
}

}  // namespace cantilever
