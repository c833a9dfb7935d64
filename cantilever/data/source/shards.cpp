#include "cantilever/data/source/shards.h"

#include <algorithm>

#include "cantilever/base/error.h"
#include "cantilever/base/rng.h"

namespace cantilever {
namespace {

class JoinedSource final : public ExampleSource {
 public:
  explicit JoinedSource(std::vector<std::shared_ptr<ExampleSource>> shards)
      : shards_(std::move(shards)) {
    int64_t rows = 0;
    for (const auto& shard : shards_) ends_.push_back(rows += shard->size());
  }

  int64_t size() const override { return ends_.empty() ? 0 : ends_.back(); }

  void read(int64_t row, uint64_t draw, Example& example) const override {
    const size_t shard = find(row);
    shards_[shard]->read(row - first_row(shard), draw, example);
    example.row = row;
  }

  void read_caption(int64_t row, uint64_t draw, std::string& caption) const override {
    const size_t shard = find(row);
    shards_[shard]->read_caption(row - first_row(shard), draw, caption);
  }

  int64_t caption_count(int64_t row) const override {
    const size_t shard = find(row);
    return shards_[shard]->caption_count(row - first_row(shard));
  }

  uint64_t fingerprint() const override {
    uint64_t sum = shards_.size();
    for (const auto& shard : shards_) sum = mix_key(sum, shard->fingerprint());
    return sum;
  }

  std::string place(int64_t row) const override {
    const size_t shard = find(row);
    return shards_[shard]->place(row - first_row(shard));
  }

  std::string description() const override {
    return concat(size(), " rows in ", shards_.size(), " files, the first ",
                  shards_.front()->description());
  }

 private:
  size_t find(int64_t row) const {
    CANTILEVER_CHECK(row >= 0 && row < size(), "there is no row ", row, ", only ", size());
    return static_cast<size_t>(std::upper_bound(ends_.begin(), ends_.end(), row) - ends_.begin());
  }
  int64_t first_row(size_t shard) const { return shard == 0 ? 0 : ends_[shard - 1]; }

  std::vector<std::shared_ptr<ExampleSource>> shards_;
  std::vector<int64_t> ends_;
};

}  // namespace

std::shared_ptr<ExampleSource> join_shards(std::vector<std::shared_ptr<ExampleSource>> shards) {
  return std::make_shared<JoinedSource>(std::move(shards));
}

}  // namespace cantilever
