#include "cantilever/data/source/picture_files.h"

#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <map>

#include "cantilever/base/error.h"
#include "cantilever/base/file.h"
#include "cantilever/base/log.h"

namespace cantilever {
namespace {

namespace fs = std::filesystem;

// No waiting for the writer of a pipe, no terminal taken over, nothing left to child processes.
constexpr int kOpenFlags = O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY;

bool is_url(std::string_view path) {
  return path.starts_with("http://") || path.starts_with("https://") || path.starts_with("s3://") ||
         path.starts_with("hf://");
}

bool is_missing(int error) {
  return error == ENOENT || error == ENOTDIR;
}

class Descriptor {
 public:
  explicit Descriptor(int value = -1) : value_(value) {}
  ~Descriptor() {
    if (value_ >= 0) ::close(value_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  int get() const { return value_; }

 private:
  int value_;
};

// An open folder, the same one for all tables of a set: thousands of shards take one descriptor.
std::shared_ptr<Descriptor> open_folder(const std::string& path) {
  static std::mutex mutex;
  static std::map<std::string, std::weak_ptr<Descriptor>> opened;
  const std::lock_guard lock(mutex);
  std::weak_ptr<Descriptor>& entry = opened[path];
  std::shared_ptr<Descriptor> folder = entry.lock();
  if (!folder) {
    folder = std::make_shared<Descriptor>(
        ::open(path.empty() ? "/" : path.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
    entry = folder;
  }
  return folder;
}

// Opens `path` below `folder`, where the kernel itself sees to it that no "..", link or rename
// leads out of it (Linux 5.6). EXDEV: it would, or an absolute link stands in the way. ENOSYS: the
// kernel (or a sandbox) has no such call.
int open_beneath(int folder, const char* path) {
  struct open_how how{};
  how.flags = kOpenFlags;
  how.resolve = RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS;
  for (int attempt = 0;; ++attempt) {
    const long file = ::syscall(SYS_openat2, folder, path, &how, sizeof how);
    if (file >= 0) return static_cast<int>(file);
    // EAGAIN: something was renamed meanwhile, and the kernel could not be sure.
    if (errno != EINTR && (errno != EAGAIN || attempt == 8)) return -1;
  }
}

// The true place of a file; "" with errno when there is none.
std::string real_path(const std::string& path) {
  char* resolved = ::realpath(path.c_str(), nullptr);
  if (resolved == nullptr) return "";
  std::string text = resolved;
  ::free(resolved);
  return text;
}

bool lies_in(const std::string& path, const std::string& folder) {
  if (folder.empty()) return false;
  return folder == "/" ||
         (path.size() > folder.size() && path.starts_with(folder) && path[folder.size()] == '/');
}

// Of REPOSITORY/snapshots/REVISION (or a folder in it) REPOSITORY/blobs, where the files of the
// Hub's cache really are; "" for any other folder.
std::string blobs_of(const std::string& folder) {
  for (fs::path path = folder; path.has_relative_path(); path = path.parent_path()) {
    if (path.parent_path().filename() == "snapshots") {
      return real_path((path.parent_path().parent_path() / "blobs").string());
    }
  }
  return "";
}

std::string without_trailing_slash(std::string path) {
  while (!path.empty() && path.back() == '/') path.pop_back();
  return path;
}

// The folder, those in it, and those in its folder "images", in name order. With `left`, links to
// folders that are not below `folder` go there instead.
void add_with_subfolders(const fs::path& folder, std::vector<fs::path>& folders,
                         std::vector<fs::path>* left) {
  constexpr size_t kMost = 200;
  const std::string limit = real_path(folder.string());
  const auto leaves = [&](const fs::directory_entry& entry) {
    std::error_code ignored;
    return left != nullptr && entry.is_symlink(ignored) &&
           !lies_in(real_path(entry.path().string()), limit);
  };
  const auto list = [&](const fs::path& parent) {
    std::vector<fs::path> found;
    std::error_code error;
    for (fs::directory_iterator entry(parent, error);
         !error && entry != fs::directory_iterator() && found.size() < kMost;
         entry.increment(error)) {
      std::error_code ignored;
      const std::string name = entry->path().filename().string();
      if (name.starts_with(".") || !entry->is_directory(ignored)) continue;
      (leaves(*entry) ? *left : found).push_back(entry->path());
    }
    std::sort(found.begin(), found.end());
    return found;
  };
  folders.push_back(folder);
  for (const fs::path& below : list(folder)) {
    folders.push_back(below);
    if (below.filename() == "images" || below.filename() == "Images") {
      const std::vector<fs::path> deeper = list(below);
      folders.insert(folders.end(), deeper.begin(), deeper.end());
    }
  }
}

bool leaves_lexically(std::string_view path) {
  int depth = 0;
  for (size_t at = 0; at <= path.size();) {
    const size_t end = std::min(path.find('/', at), path.size());
    const std::string_view part = path.substr(at, end - at);
    if (part == "..") {
      if (--depth < 0) return true;
    } else if (!part.empty() && part != ".") {
      ++depth;
    }
    at = end + 1;
  }
  return false;
}

}  // namespace

class PictureFiles::Root {
 public:
  explicit Root(const PictureRoot& root)
      : limit_(without_trailing_slash(root.limit.string())),
        absolute_(without_trailing_slash(fs::absolute(root.limit).lexically_normal().string())) {
    const fs::path below = root.start.lexically_relative(root.limit);
    if (below.empty() || *below.begin() == "..") {
      limit_ = without_trailing_slash(root.start.string());
      absolute_ = without_trailing_slash(fs::absolute(root.start).lexically_normal().string());
    } else if (below != ".") {
      prefix_ = without_trailing_slash(below.string()) + "/";
    }
  }

  const std::string& limit() const { return limit_; }

  // Writes where `stored` lies to `full` and returns what of it is below the limit; nullptr for an
  // absolute path to somewhere else.
  const char* compose(std::string_view stored, std::string& full) const {
    if (stored.front() == '/') {
      full.assign(stored);
      const bool inside = absolute_.empty() || lies_in(full, absolute_);
      if (!inside) return nullptr;
      const size_t at = full.find_first_not_of('/', absolute_.size());
      return full.c_str() + std::min(at, full.size());
    }
    full.assign(limit_);
    full += '/';
    full += prefix_;
    full += stored;
    return full.c_str() + limit_.size() + 1;
  }

  int folder() const {
    std::call_once(opened_, [&] { folder_ = open_folder(limit_); });
    return folder_->get();
  }

  // Whether a true path lies in the true folder of the limit, or in its repository's blobs.
  bool holds(const std::string& real) const {
    std::call_once(resolved_, [&] {
      real_ = real_path(limit_.empty() ? "/" : limit_);
      blobs_ = blobs_of(real_);
    });
    return lies_in(real, real_) || lies_in(real, blobs_);
  }

 private:
  std::string limit_;     // as given, without a slash at its end; "" is "/"
  std::string absolute_;  // the same as an absolute path
  std::string prefix_;    // from the limit to where paths start: "" or "train/"
  mutable std::once_flag opened_, resolved_;
  mutable std::shared_ptr<Descriptor> folder_;
  mutable std::string real_, blobs_;
};

PictureRoot picture_root(const fs::path& file, const TableOptions& options) {
  if (!options.image_root.empty()) return {options.image_root, options.image_root};
  const fs::path folder = file.parent_path().empty() ? fs::path(".") : file.parent_path();
  return {folder, options.set_folder.empty() ? folder : options.set_folder};
}

std::vector<PictureRoot> find_picture_folders(const fs::path& file, const TableOptions& options,
                                              const std::vector<std::string>& names) {
  std::vector<fs::path> folders;
  std::vector<fs::path> left_out;
  std::vector<fs::path>* const left = options.confine ? &left_out : nullptr;
  if (!options.image_root.empty()) {
    add_with_subfolders(options.image_root, folders, left);
  } else {
    const fs::path here = file.parent_path().empty() ? fs::path(".") : file.parent_path();
    const fs::path above = here == "." ? fs::path("..") : here / "..";
    add_with_subfolders(here, folders, left);
    if (options.set_folder.empty() ||
        here.lexically_normal() != options.set_folder.lexically_normal()) {
      add_with_subfolders(above.lexically_normal(), folders, left);
    }
  }
  std::vector<std::pair<size_t, fs::path>> hits;
  for (const fs::path& folder : folders) {
    const auto is_there = [&](const std::string& name) {
      std::error_code ignored;
      return !name.empty() && name.front() != '/' && name.find('\0') == std::string::npos &&
             !leaves_lexically(name) && fs::is_regular_file(folder / name, ignored);
    };
    const auto count = static_cast<size_t>(std::count_if(names.begin(), names.end(), is_there));
    if (count > 0) hits.emplace_back(count, folder);
    if (count == names.size()) break;
  }
  std::stable_sort(hits.begin(), hits.end(),
                   [](const auto& a, const auto& b) { return a.first > b.first; });
  if (!left_out.empty() && (hits.empty() || hits.front().first < names.size())) {
    log_warning(concat(file.string(), ": the folder ", left_out.front().string(),
                       " is a link that leaves its parent, so no pictures are looked for in it; "
                       "pass --image_root ",
                       left_out.front().string(), ", or --allow_outside_paths"));
  }
  std::vector<PictureRoot> roots;
  for (const auto& [count, folder] : hits) {
    roots.push_back({folder, folder});
    if (count == names.size()) break;
  }
  return roots;
}

PictureFiles::PictureFiles(PictureRoot root, bool confine)
    : PictureFiles(std::vector<PictureRoot>{std::move(root)}, confine) {}

PictureFiles::PictureFiles(std::vector<PictureRoot> roots, bool confine) : confine_(confine) {
  CANTILEVER_ASSERT(!roots.empty());
  for (const PictureRoot& root : roots) roots_.push_back(std::make_unique<Root>(root));
}

PictureFiles::~PictureFiles() = default;

PictureFiles::Found PictureFiles::open_below(const Root& root, std::string_view stored,
                                             const Place& place, std::string& full,
                                             int& descriptor) const {
  const char* below = root.compose(stored, full);
  if (!confine_) {
    descriptor = ::open(full.c_str(), kOpenFlags);
    if (descriptor >= 0) return Found::kYes;
  } else {
    if (below != nullptr) {
      if (leaves_lexically(below)) return Found::kOutside;
      const int folder = root.folder();
      if (folder < 0) return Found::kNo;  // there is no such folder
      descriptor = open_beneath(folder, below);
      if (descriptor >= 0) return Found::kYes;
    }
    // What the kernel cannot decide: absolute paths and links, and kernels without the call.
    if (below == nullptr || errno == EXDEV || errno == ENOSYS || errno == EPERM ||
        errno == EAGAIN || errno == EINVAL) {
      const std::string real = real_path(full);
      if (real.empty() && below == nullptr) return Found::kOutside;
      if (!real.empty()) {
        if (!root.holds(real)) return Found::kOutside;
        descriptor = ::open(real.c_str(), kOpenFlags | O_NOFOLLOW);
        if (descriptor >= 0) return Found::kYes;
      }
    }
  }
  const int error = errno;
  CANTILEVER_CHECK(is_missing(error), place(), ": cannot open the picture ", full, ": ",
                   std::strerror(error));
  return Found::kNo;
}

PictureFiles::Found PictureFiles::open_from_working_folder(std::string_view stored,
                                                           const Place& place,
                                                           int& descriptor) const {
  const std::string path(stored);
  const std::string real = real_path(path);
  if (real.empty()) return Found::kNo;
  const bool inside = !confine_ || std::any_of(roots_.begin(), roots_.end(),
                                               [&](const auto& root) { return root->holds(real); });
  if (!inside) return Found::kOutside;
  descriptor = ::open(real.c_str(), kOpenFlags | O_NOFOLLOW);
  if (descriptor < 0) return Found::kNo;
  std::call_once(fallback_said_, [&] {
    log_warning(concat(place(), ": ", stored, " is not below ", roots_.front()->limit(),
                       "; it is taken from the working folder (said once)"));
  });
  return Found::kYes;
}

void PictureFiles::refuse(std::string_view stored, const Place& place, const std::string& full,
                          Found found) const {
  const std::string name = quoted(std::string(stored), 200);
  const std::string limit = roots_.front()->limit().empty() ? "/" : roots_.front()->limit();
  const char* advice =
      "; if that is meant, pass --image_root with the folder that holds the pictures, or "
      "--allow_outside_paths";
  CANTILEVER_CHECK(found != Found::kOutside, place(), ": the picture ", name, " lies outside ",
                   limit, advice);
  std::string others;
  for (size_t i = 1; i < roots_.size(); ++i) others += concat(", ", roots_[i]->limit());
  throw_error(concat(place(), ": the picture ", name, " is not there; looked for ",
                     quoted(full, 400), others.empty() ? "" : concat(" and in ", others.substr(2)),
                     stored.front() == '/' ? "" : " and from the working folder",
                     "; --image_root is the folder where relative paths start"));
}

void PictureFiles::load(std::string_view stored, const Place& place, Example& example) const {
  CANTILEVER_CHECK(!stored.empty(), place(), ": the path of the picture is empty");
  CANTILEVER_CHECK(stored.find('\0') == std::string_view::npos, place(),
                   ": the path of the picture ", quoted(std::string(stored)),
                   " contains a NUL byte");
  CANTILEVER_CHECK(!is_url(stored), place(), ": the picture ", quoted(std::string(stored), 200),
                   " is a URL; pictures are not fetched, download them first (img2dataset does)");
  thread_local std::string full;  // keeps its memory
  int opened = -1;
  Found found = Found::kNo;
  const size_t first = likely_.load(std::memory_order_relaxed);
  for (size_t i = 0; i < roots_.size() && found != Found::kYes; ++i) {
    const size_t root = (first + i) % roots_.size();
    const Found here = open_below(*roots_[root], stored, place, full, opened);
    if (here != Found::kNo) found = here;
    if (here == Found::kYes && root != first) likely_.store(root, std::memory_order_relaxed);
  }
  if (found == Found::kNo && stored.front() != '/') {
    const Found here = open_from_working_folder(stored, place, opened);
    if (here == Found::kYes) full.assign(stored);
    if (here == Found::kYes || here == Found::kOutside) found = here;
  }
  if (found != Found::kYes) refuse(stored, place, full, found);
  const Descriptor file(opened);
  struct stat status{};
  CANTILEVER_CHECK(::fstat(file.get(), &status) == 0, place(), ": cannot read the picture ", full,
                   ": ", std::strerror(errno));
  CANTILEVER_CHECK(S_ISREG(status.st_mode), place(), ": the picture ", full, " is no regular file");
  try {
    example.file.map(file.get(), static_cast<size_t>(status.st_size));
  } catch (const Error& failure) {
    throw_error(concat(place(), ": ", full, ": ", failure.what()));
  }
  example.image_path.assign(full);
  example.encoded = example.file.bytes();
  example.owner.reset();
}

}  // namespace cantilever
