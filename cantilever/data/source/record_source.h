#pragma once

#include <mutex>

#include "cantilever/data/source/columns.h"
#include "cantilever/data/source/example_source.h"
#include "cantilever/data/source/picture_files.h"

namespace cantilever {

// Numbers of lines in a text that stays as it is. The first call counts all of it, so that a set of
// nothing but bad rows does not count its file again for each.
class LineNumbers {
 public:
  // 1-based number of the line that `offset` of `text` stands in. By several threads at once.
  int64_t at(std::string_view text, size_t offset) const;

 private:
  mutable std::once_flag counted_;
  mutable std::vector<int64_t> before_;  // line ends before each block of the text
};

// Rows of a text format; subclasses read the texts of a record, this class brings the pictures.
class RecordSource : public ExampleSource {
 public:
  RecordSource(const std::filesystem::path& file, const TableOptions& options);

  void read(int64_t row, uint64_t draw, Example& example) const final;
  void read_caption(int64_t row, uint64_t draw, std::string& caption) const final;
  int64_t caption_count(int64_t row) const final;
  uint64_t fingerprint() const override;
  std::string place(int64_t row) const override = 0;

  // The picture's path as stored, into `path`.
  void read_picture_path(int64_t row, std::string& path) const;

  // Whether the format has a row for every caption (COCO, Flickr8k) instead of one for every
  // picture.
  virtual bool has_caption_rows() const { return false; }

 protected:
  // Set what is not null: caption number `draw` modulo their count, the picture's path as stored,
  // and what kind of picture that makes. The strings keep their memory.
  struct Texts {
    std::string* caption = nullptr;
    std::string* picture = nullptr;
    ImageKind kind = ImageKind::kPath;
  };
  virtual void read_texts(int64_t row, uint64_t draw, Texts& texts) const = 0;
  virtual int64_t count_captions(int64_t row) const;

  // Of a format whose pictures lie in a folder beside: looks for those of the first rows below
  // --image_root, else in the folders in and beside that of the file (COCO's annotations/ and
  // train2017/), and takes the folders that have some. To be called at the end of a constructor.
  void search_picture_folders();

  std::string file_;  // path, for messages
  TableOptions options_;
  LineNumbers line_numbers_;  // for place()

 private:
  void check_row(int64_t row) const;

  std::unique_ptr<PictureFiles> pictures_;
};

// A path of a picture in a table of texts: what kind of picture it makes.
ImageKind path_kind(const TableOptions& options);

// 1-based number of the line that `offset` stands in.
int64_t line_number(std::string_view text, size_t offset);

// Throws Error when `text` is no UTF-8 table at all: a Git LFS pointer, UTF-16, compressed, empty.
// Returns the offset behind a UTF-8 byte order mark.
size_t check_text_file(std::string_view text, const std::string& file);

// Row sources of one file each. Throw Error as open_source says.
std::shared_ptr<RecordSource> open_json(const std::filesystem::path& path,
                                        const TableOptions& options);
std::shared_ptr<RecordSource> open_csv(const std::filesystem::path& path,
                                       const TableOptions& options, char delimiter);
// null when the file is no COCO file (an object with the arrays "images" and "annotations").
std::shared_ptr<RecordSource> open_coco(const std::filesystem::path& path,
                                        const TableOptions& options);
// Lines NAME#NUMBER<tab>CAPTION: Flickr8k.token, results_20130124.token.
std::shared_ptr<RecordSource> open_flickr(const std::filesystem::path& path,
                                          const TableOptions& options);

}  // namespace cantilever
