#pragma once

#include <atomic>
#include <filesystem>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "cantilever/data/source/columns.h"
#include "cantilever/data/source/example_source.h"

namespace cantilever {

// Names the file and row for a message; called only for an error, since it may count lines.
using Place = std::function<std::string()>;

// Where the pictures of a table lie.
struct PictureRoot {
  std::filesystem::path start;  // relative paths start here
  std::filesystem::path limit;  // and must stay in here: `start` or a folder above it
};

// The root of the pictures of the table `file`: --image_root, else the table's folder, with the
// set's folder as the limit where there is one.
PictureRoot picture_root(const std::filesystem::path& file, const TableOptions& options);

// The folders in which pictures of a table were found, the one with the most first: below
// --image_root, else in and beside the table's folder and in the folders "images" there. Each is
// the limit of its pictures. Never outside the set's folder where there is one; links to folders
// elsewhere count only when options.confine is off.
std::vector<PictureRoot> find_picture_folders(const std::filesystem::path& file,
                                              const TableOptions& options,
                                              const std::vector<std::string>& names);

// Finds and maps the picture files that a table names. May be used by several threads at once.
class PictureFiles {
 public:
  // confine: what leaves the limit (by "..", as an absolute path, through a symbolic link) is
  // refused; a link from a snapshot of the Hub's cache into the blobs of its own repository does
  // not leave. Otherwise any file may be named. In both cases a relative path that is not there is
  // looked for from the working folder as well.
  PictureFiles(PictureRoot root, bool confine);
  // The same with several roots, asked in their order.
  PictureFiles(std::vector<PictureRoot> roots, bool confine);
  ~PictureFiles();

  // Sets image_path, encoded and file of `example`. `stored` may be example.image_path itself.
  // Throws Error that starts with `place`: empty, a URL, not there, outside, no regular file (a
  // pipe or device is never waited for). Allocates nothing once `example` has been used.
  void load(std::string_view stored, const Place& place, Example& example) const;

 private:
  class Root;
  enum class Found { kNo, kYes, kOutside };

  Found open_below(const Root& root, std::string_view stored, const Place& place, std::string& full,
                   int& descriptor) const;
  Found open_from_working_folder(std::string_view stored, const Place& place,
                                 int& descriptor) const;
  [[noreturn]] void refuse(std::string_view stored, const Place& place, const std::string& full,
                           Found found) const;

  std::vector<std::unique_ptr<Root>> roots_;
  bool confine_;
  mutable std::atomic<size_t> likely_{0};  // the root of the picture before
  mutable std::once_flag fallback_said_;
};

}  // namespace cantilever
