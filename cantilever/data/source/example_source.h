#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "cantilever/base/file.h"

namespace cantilever {

// How the data set hands a picture over. The reference script treats the three differently: a path
// is resized as bytes and never turned by EXIF, {bytes} is resized as float, and what `datasets`
// decodes itself (an Image feature) is also turned by EXIF.
enum class ImageKind { kPath, kBytes, kImageFeature };

// One picture-caption pair as stored. An object that is read into again and again keeps its memory.
struct Example {
  int64_t row = 0;      // number in its split, from 0
  std::string caption;  // UTF-8 as stored; not checked
  ImageKind image_kind = ImageKind::kBytes;
  std::string image_path;              // for messages; empty when the set has none
  std::span<const std::byte> encoded;  // the picture file's bytes
  std::shared_ptr<const void> owner;   // keeps `encoded` alive, or
  MappedFile file;                     // does: a picture in a file of its own
};

// Random access to the pairs of one split; all of it may be called by several threads at once. A
// row that cannot be read throws Error with the file, the row (or line) and the reason.
//
// A row may have several captions. `draw` says which one is taken: number `draw` modulo their
// count, so that 0 is the first and a random number is a random one.
class ExampleSource {
 public:
  virtual ~ExampleSource() = default;
  virtual int64_t size() const = 0;
  // Everything of a row, into `example`.
  virtual void read(int64_t row, uint64_t draw, Example& example) const = 0;
  // Only the caption, without touching the picture, into `caption`.
  virtual void read_caption(int64_t row, uint64_t draw, std::string& caption) const = 0;
  // How many captions a row has.
  virtual int64_t caption_count(int64_t row) const;

  // The same for one row and the first caption.
  Example get(int64_t row) const;
  std::string caption(int64_t row) const;

  // A number that is another when the files of the set (paths, sizes, times of change), the choice
  // of rows, or the columns and folders that pictures and captions are taken from are: what may not
  // be mixed in a cache on disk. Picture files that a table names are not looked at one by one.
  virtual uint64_t fingerprint() const = 0;
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
