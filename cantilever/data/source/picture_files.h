#pragma once

#include <filesystem>
#include <functional>
#include <mutex>
#include <string>

#include "cantilever/data/source/example_source.h"

namespace cantilever {

// Names the file and row for a message; called only for an error, since it may count lines.
using Place = std::function<std::string()>;

// Finds and maps the picture files that a table names.
class PictureFiles {
 public:
  // confine: refuse paths that lead out of `root` (what a downloaded table may contain). Otherwise
  // absolute paths are taken as they are, and a relative one that is not below `root` is looked for
  // from the working folder.
  PictureFiles(std::filesystem::path root, bool confine);

  // Sets image_path, encoded and owner of `example`. `place` starts the Error's message.
  void load(const std::string& stored, const Place& place, Example& example) const;

  // Where `stored` lies, without opening it. Throws Error when it is refused or not there.
  std::filesystem::path find(const std::string& stored, const Place& place) const;

 private:
  std::filesystem::path root_;
  bool confine_;
  mutable std::once_flag fallback_said_;
};

}  // namespace cantilever
