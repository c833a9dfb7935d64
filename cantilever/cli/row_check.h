#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cantilever/data/loader/batch_loader.h"

namespace cantilever {

struct RowCheckOptions {
  ExifOrientation exif_orientation = ExifOrientation::kAuto;
  DecodeOptions decode;
  bool all_captions = false;  // of rows with several; else the first
  // Null: captions are not tokenised.
  std::shared_ptr<const Tokenizer> tokenizer;
  int64_t max_seq_length = 128;
};

// What is known of one row of a set.
struct RowReport {
  int64_t row = 0;
  std::string file;    // of the picture; empty when the set has none
  std::string reason;  // why the row is bad; empty when it is good
  std::string kind;    // "row", "picture" or "caption": what is bad
  int width = 0;       // as the model is given it, after EXIF turning; 0 when it is not known
  int height = 0;
  std::string format, mode;
  int exif_orientation = 1;
  bool turned = false;  // by EXIF, under the options
  std::optional<std::string> caption;
  std::vector<int32_t> input_ids;  // with a tokenizer
  bool truncated = false;
  uint64_t picture_hash = 0;  // of the file's bytes; 0 when they were not had
  uint64_t caption_hash = 0;

  bool good() const { return reason.empty(); }
};

// Looks at rows as training would: reads, decodes all of the picture, checks that captions are text
// and hold some, tokenises. For one thread; keeps its memory from row to row.
class RowChecker {
 public:
  RowChecker(const ExampleSource& source, const RowCheckOptions& options)
      : source_(source), options_(options) {}

  // Never throws for what a row holds.
  void check(int64_t row, RowReport& report);

 private:
  void check_picture(RowReport& report);
  void check_captions(RowReport& report);

  const ExampleSource& source_;
  const RowCheckOptions& options_;
  Example example_;
  std::string other_caption_;
  ImageDecoder decoder_;
};

// The reason without what differs from row to row, for counting: numbers are N, quoted words and
// paths are '...'. `place` is cut off in front.
std::string reason_class(const std::string& reason, const std::string& place);

}  // namespace cantilever
