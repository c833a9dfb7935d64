#include "cantilever/data/source/picture_files.h"

#include <algorithm>

#include "cantilever/base/error.h"
#include "cantilever/base/file.h"
#include "cantilever/base/log.h"

namespace cantilever {
namespace {

namespace fs = std::filesystem;

bool is_url(const std::string& path) {
  return path.starts_with("http://") || path.starts_with("https://") || path.starts_with("s3://") ||
         path.starts_with("hf://");
}

bool is_there(const fs::path& path) {
  std::error_code ignored;
  return fs::exists(path, ignored);
}

}  // namespace

PictureFiles::PictureFiles(fs::path root, bool confine)
    : root_(std::move(root)), confine_(confine) {}

fs::path PictureFiles::find(const std::string& stored, const Place& place) const {
  CANTILEVER_CHECK(!stored.empty(), place(), ": the path of the picture is empty");
  CANTILEVER_CHECK(stored.find('\0') == std::string::npos, place(), ": the path of the picture ",
                   quoted(stored), " contains a NUL byte");
  CANTILEVER_CHECK(!is_url(stored), place(), ": the picture ", quoted(stored, 200),
                   " is a URL; pictures are not fetched, download them first (img2dataset does)");
  const fs::path given(stored);
  if (confine_) {
    const fs::path normal = given.lexically_normal();
    CANTILEVER_CHECK(!given.is_absolute() && *normal.begin() != "..", place(), ": the picture ",
                     quoted(stored, 200), " lies outside ", root_.string(),
                     "; if that is meant, pass --image_root with the folder where paths start");
  }
  const fs::path below_root = root_ / given;  // `given` itself when it is absolute
  if (is_there(below_root)) return below_root;
  if (!confine_ && given.is_relative() && is_there(given)) {
    std::call_once(fallback_said_, [&] {
      log_warning(concat(place(), ": ", below_root.string(), " is not there; ", stored,
                         " is taken from the working folder (said once)"));
    });
    return given;
  }
  throw_error(concat(place(), ": the picture ", quoted(stored, 200), " is not there; looked for ",
                     below_root.string(),
                     confine_ || given.is_absolute() ? "" : " and from the working folder",
                     "; --image_root sets the folder where paths start"));
}

void PictureFiles::load(const std::string& stored, const Place& place, Example& example) const {
  const fs::path path = find(stored, place);
  std::error_code error;
  CANTILEVER_CHECK(fs::is_regular_file(path, error), place(), ": the picture ", path.string(),
                   " is no regular file");
  try {
    example.file = MappedFile(path);
  } catch (const Error& failure) {
    throw_error(concat(place(), ": ", failure.what()));
  }
  example.image_path = path.string();
  example.encoded = example.file.bytes();
  example.owner.reset();
}

}  // namespace cantilever
