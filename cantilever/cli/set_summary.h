#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "cantilever/cli/row_check.h"
#include "cantilever/io/json.h"

namespace cantilever {

// What `verify` says about the rows of a split. Memory does not grow with the split but for 16
// bytes a row, and those up to a limit.
class SplitSummary {
 public:
  // `place`: where a person finds the row (ExampleSource::place).
  void add(const RowReport& report, const std::string& place);

  int64_t rows() const { return rows_; }
  int64_t bad() const { return bad_; }
  // Rows, good, bad, why, sizes, formats, modes, EXIF, duplicates, long captions; bad_rows last.
  Json to_json(bool tokenised) const;

  // How many different pictures stand in both.
  static int64_t shared_pictures(const SplitSummary& a, const SplitSummary& b);

 private:
  using Counts = std::map<std::string, int64_t>;
  using Histogram = std::map<int, int64_t>;

  void add_bad(const RowReport& report, const std::string& place);

  int64_t rows_ = 0;
  int64_t bad_ = 0;
  Counts reasons_, formats_, modes_;
  Histogram widths_, heights_;
  int64_t tagged_ = 0;  // with an EXIF orientation
  int64_t turned_ = 0;
  int64_t truncated_ = 0;
  std::vector<uint64_t> picture_hashes_, caption_hashes_;
  std::vector<std::string> bad_rows_;  // the first
};

}  // namespace cantilever
