#include "cantilever/data/source/shards.h"

#include <algorithm>

#include "cantilever/base/error.h"

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

  Example get(int64_t row) const override {
    const size_t shard = find(row);
    Example example = shards_[shard]->get(row - first_row(shard));
    example.row = row;
    return example;
  }

  std::string caption(int64_t row) const override {
    const size_t shard = find(row);
    return shards_[shard]->caption(row - first_row(shard));
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
