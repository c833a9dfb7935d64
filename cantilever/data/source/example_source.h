#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace cantilever {

// How the data set hands a picture over. The reference script treats the three differently: a path
// is resized as bytes and never turned by EXIF, {bytes} is resized as float, and what `datasets`
// decodes itself (an Image feature) is also turned by EXIF.
enum class ImageKind { kPath, kBytes, kImageFeature };

// One picture-caption pair as stored. For kPath `encoded` holds the mapped file of the path.
struct Example {
  int64_t row = 0;      // number in its split, from 0
  std::string caption;  // UTF-8 as stored; not checked
  ImageKind image_kind = ImageKind::kBytes;
  std::string image_path;              // for messages; empty when the set has none
  std::span<const std::byte> encoded;  // the picture file's bytes
  std::shared_ptr<const void> owner;   // keeps `encoded` alive
};

// Random access to the pairs of one split. get() may be called by several threads at once. A row
// that cannot be read throws Error with the file, the row (or line) and the reason.
class ExampleSource {
 public:
  virtual ~ExampleSource() = default;
  virtual int64_t size() const = 0;
  virtual Example get(int64_t row) const = 0;
  // Only the caption, without touching the picture.
  virtual std::string caption(int64_t row) const = 0;
  // Where a person finds the row: the data file and the row or line in it, "train.jsonl line 7".
  virtual std::string place(int64_t row) const;
  virtual std::string description() const = 0;  // "train.parquet (64 rows, struct image, ...)"
};

// The first `size` rows of a source.
std::shared_ptr<ExampleSource> take_first(std::shared_ptr<ExampleSource> source, int64_t size);
// The given rows of a source in the given order.
std::shared_ptr<ExampleSource> select_rows(std::shared_ptr<ExampleSource> source,
                                           std::vector<int64_t> rows);

}  // namespace cantilever
