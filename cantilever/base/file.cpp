#include "cantilever/base/file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstring>
#include <utility>

#include "cantilever/base/error.h"
#include "cantilever/base/rng.h"

namespace cantilever {
namespace {

[[noreturn]] void fail(const char* action, const std::filesystem::path& path, int error) {
  throw_error(concat("cannot ", action, " ", path.string(), ": ", std::strerror(error)));
}

class Descriptor {
 public:
  explicit Descriptor(int value) : value_(value) {}
  ~Descriptor() {
    if (value_ >= 0) ::close(value_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  int get() const { return value_; }

 private:
  int value_;
};

// A pipe without a writer or a device without an end would be read for ever: O_NONBLOCK keeps
// open() from waiting, and only regular files pass.
int open_regular(const std::filesystem::path& path, struct stat& status) {
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (file < 0) fail("open", path, errno);
  const int error = ::fstat(file, &status) != 0 ? errno : S_ISDIR(status.st_mode) ? EISDIR : 0;
  if (error != 0 || !S_ISREG(status.st_mode)) ::close(file);
  if (error != 0) fail("read", path, error);
  CANTILEVER_CHECK(S_ISREG(status.st_mode), "cannot read ", path.string(),
                   ": it is not a regular file (a pipe or device?)");
  return file;
}

}  // namespace

MappedFile::MappedFile(const std::filesystem::path& path) {
  map(path);
}

void MappedFile::map(const std::filesystem::path& path) {
  unmap();
  path_ = path;
  struct stat status{};
  const Descriptor file(open_regular(path, status));
  map_descriptor(file.get(), static_cast<size_t>(status.st_size));
}

void MappedFile::map(int descriptor, size_t size) {
  unmap();
  path_.clear();
  map_descriptor(descriptor, size);
}

void MappedFile::map_descriptor(int descriptor, size_t size) {
  if (size == 0) return;
  void* address = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, descriptor, 0);
  if (address == MAP_FAILED) fail("map", path_, errno);
  bytes_ = {static_cast<const std::byte*>(address), size};
}

MappedFile::~MappedFile() {
  unmap();
}

MappedFile::MappedFile(MappedFile&& other) noexcept
    : path_(std::move(other.path_)), bytes_(std::exchange(other.bytes_, {})) {}

MappedFile& MappedFile::operator=(MappedFile&& other) noexcept {
  if (this != &other) {
    unmap();
    path_ = std::move(other.path_);
    bytes_ = std::exchange(other.bytes_, {});
  }
  return *this;
}

void MappedFile::unmap() noexcept {
  if (!bytes_.empty()) ::munmap(const_cast<std::byte*>(bytes_.data()), bytes_.size());
  bytes_ = {};
}

uint64_t file_fingerprint(const std::filesystem::path& path) {
  struct stat found{};
  if (::stat(path.c_str(), &found) != 0) return 0;
  uint64_t sum = 0;
  for (const char c : path.native()) sum = mix_key(sum, static_cast<unsigned char>(c));
  sum = mix_key(sum, static_cast<uint64_t>(found.st_size));
  sum = mix_key(sum, static_cast<uint64_t>(found.st_mtim.tv_sec));
  return mix_key(sum, static_cast<uint64_t>(found.st_mtim.tv_nsec));
}

std::string read_file(const std::filesystem::path& path) {
  struct stat status{};
  const Descriptor file(open_regular(path, status));
  std::string content;
  char buffer[1 << 16];
  for (;;) {
    const ssize_t got = ::read(file.get(), buffer, sizeof buffer);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) fail("read", path, errno);
    if (got == 0) return content;
    content.append(buffer, static_cast<size_t>(got));
  }
}

AtomicFile::AtomicFile(const std::filesystem::path& path) : path_(path) {
  // Process number and counter: two writers never share a temporary name.
  static std::atomic<unsigned> counter{0};
  temporary_ = path;
  temporary_ += concat(".tmp-", ::getpid(), "-", counter++);
  descriptor_ = ::open(temporary_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
  if (descriptor_ < 0) fail("write", path_, errno);
}

AtomicFile::~AtomicFile() {
  if (descriptor_ < 0) return;
  ::close(descriptor_);
  ::unlink(temporary_.c_str());
}

void AtomicFile::write(std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t put = ::write(descriptor_, bytes.data(), bytes.size());
    if (put < 0 && errno == EINTR) continue;
    if (put < 0) fail("write", path_, errno);
    bytes = bytes.subspan(static_cast<size_t>(put));
  }
}

void AtomicFile::write(std::string_view text) {
  write(std::as_bytes(std::span(text.data(), text.size())));
}

void AtomicFile::commit() {
  if (::fsync(descriptor_) != 0) fail("flush", path_, errno);
  const int descriptor = std::exchange(descriptor_, -1);
  if (::close(descriptor) != 0 || ::rename(temporary_.c_str(), path_.c_str()) != 0) {
    const int error = errno;
    ::unlink(temporary_.c_str());
    fail("write", path_, error);
  }
  sync_folder(path_.has_parent_path() ? path_.parent_path() : ".");
}

void write_file_atomically(const std::filesystem::path& path, std::string_view content) {
  AtomicFile file(path);
  file.write(content);
  file.commit();
}

void sync_folder(const std::filesystem::path& folder) {
  const Descriptor opened(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (opened.get() < 0) fail("open", folder, errno);
  // Some file systems cannot flush a folder and say EINVAL; there is nothing better to do there.
  if (::fsync(opened.get()) != 0 && errno != EINVAL) fail("flush", folder, errno);
}

void make_folders(const std::filesystem::path& folder) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error || !std::filesystem::is_directory(folder)) {
    fail("make the folder", folder, error ? error.value() : ENOTDIR);
  }
}

std::string describe_lfs_pointer(std::span<const std::byte> content) {
  constexpr std::string_view kMagic = "version https://git-lfs.github.com/spec/";
  const std::string_view text(reinterpret_cast<const char*>(content.data()),
                              std::min<size_t>(content.size(), 1024));
  if (!text.starts_with(kMagic)) return {};
  std::string size = "unknown size";
  if (const size_t at = text.find("\nsize "); at != std::string_view::npos) {
    const size_t begin = at + 6;
    size = concat(text.substr(begin, text.find('\n', begin) - begin), " bytes");
  }
  return concat("this is a Git LFS pointer (", content.size(), " bytes), not the data (", size,
                "); run `git lfs pull` in its repository or download the file itself");
}

}  // namespace cantilever
