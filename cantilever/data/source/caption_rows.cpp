#include "cantilever/data/source/caption_rows.h"

#include <algorithm>
#include <unordered_map>

#include "cantilever/base/error.h"
#include "cantilever/base/rng.h"

namespace cantilever {
namespace {

// Stands for a path; 128 bits, so that no two paths of a set share one by chance.
struct PathHash {
  uint64_t a = 0;
  uint64_t b = 0;
  bool operator==(const PathHash&) const = default;
};

struct FoldHash {
  size_t operator()(const PathHash& hash) const { return hash.a; }
};

PathHash hash_path(std::string_view path) {
  PathHash hash{path.size(), ~uint64_t{0}};
  for (const char byte : path) {
    hash.a = mix_key(hash.a, static_cast<unsigned char>(byte));
    hash.b = (hash.b ^ static_cast<unsigned char>(byte)) * 0x100000001b3;
  }
  return hash;
}

// The number of each row's picture, in the order in which pictures first occur. `count`: how many
// could be read.
std::vector<uint32_t> number_pictures(const RecordSource& source, int64_t& count) {
  std::unordered_map<PathHash, uint32_t, FoldHash> numbers;
  std::vector<uint32_t> of_row(static_cast<size_t>(source.size()));
  CANTILEVER_CHECK(of_row.size() < UINT32_MAX, source.description(), ": too many rows");
  std::string path;
  uint32_t next = 0;
  for (size_t row = 0; row < of_row.size(); ++row) {
    try {
      source.read_picture_path(static_cast<int64_t>(row), path);
    } catch (const Error&) {
      of_row[row] = next++;  // a row of its own, which says what is wrong when it is read
      continue;
    }
    const auto [found, fresh] = numbers.try_emplace(hash_path(path), next);
    if (fresh) ++next;
    of_row[row] = found->second;
  }
  count = static_cast<int64_t>(numbers.size());
  return of_row;
}

class ExpandedSource final : public ExampleSource {
 public:
  ExpandedSource(std::shared_ptr<ExampleSource> source, std::vector<int64_t> ends)
      : source_(std::move(source)), ends_(std::move(ends)) {}

  int64_t size() const override { return ends_.empty() ? 0 : ends_.back(); }

  void read(int64_t row, uint64_t, Example& example) const override {
    const Caption caption = find(row);
    source_->read(caption.row, caption.number, example);
    example.row = row;
  }

  void read_caption(int64_t row, uint64_t, std::string& text) const override {
    const Caption caption = find(row);
    source_->read_caption(caption.row, caption.number, text);
  }

  uint64_t fingerprint() const override {
    return mix_key(mix_key(source_->fingerprint(), 0xca91), static_cast<uint64_t>(size()));
  }

  std::string place(int64_t row) const override {
    const Caption caption = find(row);
    return concat(source_->place(caption.row), ", caption ", caption.number + 1);
  }

  std::string description() const override {
    return concat(size(), " captions as rows of ", source_->description());
  }

 private:
  struct Caption {
    int64_t row = 0;
    uint64_t number = 0;
  };

  Caption find(int64_t row) const {
    CANTILEVER_CHECK(row >= 0 && row < size(), "there is no row ", row, ", only ", size());
    const auto end = std::upper_bound(ends_.begin(), ends_.end(), row);
    const int64_t first = end == ends_.begin() ? 0 : *(end - 1);
    return {end - ends_.begin(), static_cast<uint64_t>(row - first)};
  }

  std::shared_ptr<ExampleSource> source_;
  std::vector<int64_t> ends_;  // captions up to the end of each row
};

class GroupedSource final : public ExampleSource {
 public:
  explicit GroupedSource(std::shared_ptr<RecordSource> source) : source_(std::move(source)) {
    int64_t named = 0;
    const std::vector<uint32_t> of_row = number_pictures(*source_, named);
    const uint32_t pictures =
        of_row.empty() ? 0 : *std::max_element(of_row.begin(), of_row.end()) + 1;
    begins_.resize(size_t{pictures} + 1);
    for (const uint32_t picture : of_row) ++begins_[size_t{picture} + 1];
    for (size_t i = 1; i < begins_.size(); ++i) begins_[i] += begins_[i - 1];
    rows_.resize(of_row.size());
    std::vector<uint32_t> next(begins_.begin(), begins_.end() - 1);
    for (size_t row = 0; row < of_row.size(); ++row) {
      rows_[next[of_row[row]]++] = static_cast<uint32_t>(row);
    }
  }

  int64_t size() const override { return static_cast<int64_t>(begins_.size()) - 1; }

  void read(int64_t row, uint64_t draw, Example& example) const override {
    source_->read(source_row(row, draw), 0, example);
    example.row = row;
  }

  void read_caption(int64_t row, uint64_t draw, std::string& caption) const override {
    source_->read_caption(source_row(row, draw), 0, caption);
  }

  int64_t caption_count(int64_t row) const override {
    check(row);
    const auto at = static_cast<size_t>(row);
    return begins_[at + 1] - begins_[at];
  }

  uint64_t fingerprint() const override { return mix_key(source_->fingerprint(), 0x96a0); }
  std::string place(int64_t row) const override { return source_->place(source_row(row, 0)); }

  std::string description() const override {
    return concat(size(), " pictures of ", source_->description());
  }

 private:
  void check(int64_t row) const {
    CANTILEVER_CHECK(row >= 0 && row < size(), "there is no row ", row, ", only ", size());
  }

  int64_t source_row(int64_t row, uint64_t draw) const {
    const auto count = static_cast<uint64_t>(caption_count(row));
    return rows_[begins_[static_cast<size_t>(row)] + static_cast<size_t>(draw % count)];
  }

  std::shared_ptr<RecordSource> source_;
  std::vector<uint32_t> begins_;  // of each picture's rows in rows_
  std::vector<uint32_t> rows_;
};

}  // namespace

std::shared_ptr<ExampleSource> expand_captions(std::shared_ptr<ExampleSource> source) {
  std::vector<int64_t> ends(static_cast<size_t>(source->size()));
  int64_t end = 0;
  for (size_t row = 0; row < ends.size(); ++row) {
    int64_t count = 1;
    try {
      count = std::max<int64_t>(1, source->caption_count(static_cast<int64_t>(row)));
    } catch (const Error&) {
      // Its row says what is wrong when it is read.
    }
    ends[row] = end += count;
  }
  if (end == source->size()) return source;
  return std::make_shared<ExpandedSource>(std::move(source), std::move(ends));
}

std::shared_ptr<ExampleSource> group_by_picture(std::shared_ptr<RecordSource> source) {
  return std::make_shared<GroupedSource>(std::move(source));
}

int64_t count_pictures(const RecordSource& source) {
  int64_t count = 0;
  number_pictures(source, count);
  return count;
}

}  // namespace cantilever
