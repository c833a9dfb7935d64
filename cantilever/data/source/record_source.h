#pragma once

#include "cantilever/data/source/columns.h"
#include "cantilever/data/source/example_source.h"
#include "cantilever/data/source/picture_files.h"

namespace cantilever {

// What a text format has in one row: the caption and a picture by its path.
struct Record {
  std::string caption;
  std::string image_path;
  ImageKind image_kind = ImageKind::kPath;
};

// Rows of a text format; subclasses read records, this class brings the pictures.
class RecordSource : public ExampleSource {
 public:
  RecordSource(const std::filesystem::path& file, const TableOptions& options);

  void read(int64_t row, uint64_t draw, Example& example) const final;
  void read_caption(int64_t row, uint64_t draw, std::string& caption) const final;
  uint64_t fingerprint() const override;

  std::string place(int64_t row) const override = 0;

 protected:
  virtual Record read_record(int64_t row) const = 0;
  virtual std::string record_caption(int64_t row) const = 0;

  std::string file_;  // path, for messages
  TableOptions options_;

 private:
  void check_row(int64_t row) const;

  PictureFiles pictures_;
};

// A path of a picture in a table of texts: what kind of picture it makes.
ImageKind path_kind(const TableOptions& options);

// The folder where the pictures of a table start.
std::filesystem::path picture_root(const std::filesystem::path& file, const TableOptions& options);

// 1-based number of the line that `offset` stands in.
int64_t line_number(std::string_view text, size_t offset);

// Throws Error when `text` is no UTF-8 table at all: a Git LFS pointer, UTF-16, compressed, empty.
// Returns the offset behind a UTF-8 byte order mark.
size_t check_text_file(std::string_view text, const std::string& file);

// Row sources of one file each. Throw Error as open_source says.
std::shared_ptr<ExampleSource> open_json(const std::filesystem::path& path,
                                         const TableOptions& options);
std::shared_ptr<ExampleSource> open_csv(const std::filesystem::path& path,
                                        const TableOptions& options, char delimiter);

}  // namespace cantilever
