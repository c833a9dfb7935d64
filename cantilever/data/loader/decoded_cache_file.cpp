#include "cantilever/data/loader/decoded_cache_file.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <thread>
#include <utility>

#include "cantilever/base/error.h"
#include "cantilever/base/file.h"
#include "cantilever/base/log.h"
#include "cantilever/base/rng.h"
#include "cantilever/data/loader/decoded_cache_rows.h"

namespace cantilever {
namespace {

namespace fs = std::filesystem;

constexpr char kMagic[8] = {'C', 'A', 'N', 'T', 'I', 'L', 'D', 'C'};
constexpr uint32_t kVersion = 2;
constexpr int64_t kPage = 4096;
constexpr const char* kPrefix = "decoded-";
constexpr const char* kSuffix = ".cache";

// The fixed part of the header.
struct Header {
  char magic[8];
  uint32_t version;
  uint32_t type;
  uint64_t rows;
  uint64_t values;
  uint64_t slots_begin;
  uint64_t key_bytes;
};

int64_t to_page(int64_t bytes) {
  return (bytes + kPage - 1) / kPage * kPage;
}

bool is_cache_file(const fs::path& path) {
  const std::string name = path.filename().string();
  return name.starts_with(kPrefix) && name.ends_with(kSuffix);
}

[[noreturn]] void fail(const char* action, const fs::path& path, int error) {
  throw_error(concat("decoded cache: cannot ", action, " ", path.string(), ": ",
                     std::strerror(error),
                     "; give a folder that can be written, or no disk cache"));
}

// False when another process has the lock. Two writers would give one slot to two rows: a file
// system without locks is an error.
bool lock(int descriptor, const fs::path& path) {
  int error = EINTR;
  while (error == EINTR) error = ::flock(descriptor, LOCK_EX | LOCK_NB) == 0 ? 0 : errno;
  if (error != 0 && error != EWOULDBLOCK) fail("lock", path, error);
  return error == 0;
}

// A limit on file sizes would end the process with a signal instead of an error.
bool above_size_limit(int64_t bytes) {
  struct rlimit limit{};
  return ::getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY &&
         static_cast<uint64_t>(bytes) > limit.rlim_cur;
}

int allocate_range(int descriptor, int64_t begin, int64_t end) {
  if (begin >= end) return 0;
  if (above_size_limit(end)) return EFBIG;
  int error = EINTR;
  while (error == EINTR) error = ::posix_fallocate(descriptor, begin, end - begin);
  return error;
}

std::string read_front(int descriptor, size_t bytes) {
  std::string front(bytes, '\0');
  size_t done = 0;
  while (done < bytes) {
    const ssize_t got =
        ::pread(descriptor, front.data() + done, bytes - done, static_cast<off_t>(done));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) break;
    done += static_cast<size_t>(got);
  }
  front.resize(done);
  return front;
}

int write_front(int descriptor, const std::string& bytes) {
  size_t done = 0;
  while (done < bytes.size()) {
    const ssize_t put =
        ::pwrite(descriptor, bytes.data() + done, bytes.size() - done, static_cast<off_t>(done));
    if (put < 0 && errno == EINTR) continue;
    if (put < 0) return errno;
    done += static_cast<size_t>(put);
  }
  return ::fsync(descriptor) == 0 ? 0 : errno;
}

void tell_of_others(const fs::path& path) {
  const CacheFiles others = cache_files_in(path.parent_path(), path);
  if (others.count == 0) return;
  log_info(concat("decoded cache: cache files of other splits, data or settings in ",
                  path.parent_path().string(), ": ", others.count, ", ",
                  format_bytes(static_cast<double>(others.bytes)),
                  "; those that no run needs any more may be deleted"));
}

}  // namespace

CacheFiles cache_files_in(const fs::path& folder, const fs::path& other_than) {
  CacheFiles found;
  std::error_code error;
  for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error)) {
    struct stat status{};
    if (!is_cache_file(it->path()) || it->path() == other_than) continue;
    if (::lstat(it->path().c_str(), &status) != 0 || !S_ISREG(status.st_mode)) continue;
    ++found.count;
    found.bytes += int64_t{status.st_blocks} * 512;
  }
  return found;
}

CacheLayout::CacheLayout(const CachePlan& plan, const std::string& key)
    : row_bytes(plan.row_bytes) {
  entries_begin = to_page(static_cast<int64_t>(sizeof(Header) + key.size()));
  slots_begin = entries_begin + to_page(plan.rows * static_cast<int64_t>(sizeof(CacheEntry)));
  Header fixed{};
  std::copy(std::begin(kMagic), std::end(kMagic), fixed.magic);
  fixed.version = kVersion;
  fixed.type = static_cast<uint32_t>(plan.type);
  fixed.rows = static_cast<uint64_t>(plan.rows);
  fixed.values = static_cast<uint64_t>(plan.values);
  fixed.slots_begin = static_cast<uint64_t>(slots_begin);
  fixed.key_bytes = key.size();
  header.assign(reinterpret_cast<const char*>(&fixed), sizeof fixed);
  header += key;
  header.resize(static_cast<size_t>(entries_begin), '\0');
  // The version is not in the name: a newer program replaces the file instead of adding one.
  uint64_t sum = mix_key(fixed.rows, mix_key(fixed.values, fixed.type));
  for (const char c : key) sum = mix_key(sum, static_cast<unsigned char>(c));
  char digits[17];
  std::snprintf(digits, sizeof digits, "%016llx", static_cast<unsigned long long>(sum));
  file_name = concat(kPrefix, digits, kSuffix);
}

int64_t CacheLayout::slots_in(int64_t file_bytes) const {
  return std::max<int64_t>(0, file_bytes - slots_begin) / row_bytes;
}

CacheFile::CacheFile(const fs::path& folder, const CacheLayout& layout)
    : path_(folder / layout.file_name) {
  make_folders(folder);
  // Each round ends with the file open, or another process was quicker and the next round sees its
  // work. A process that replaces a file takes milliseconds.
  for (int round = 0; round < 100; ++round) {
    try {
      if (try_open(layout)) return;
    } catch (...) {
      close();
      throw;
    }
    close();
    std::this_thread::sleep_for(std::chrono::milliseconds(round == 0 ? 0 : 20));
  }
  throw_error(concat("decoded cache: ", path_.string(),
                     " is in use by another run that has not finished its header; try again, or "
                     "give another folder"));
}

CacheFile::~CacheFile() {
  close();
}

void CacheFile::close() {
  if (mapped_ != nullptr) ::munmap(mapped_, mapped_bytes_);
  if (descriptor_ >= 0) ::close(descriptor_);
  mapped_ = nullptr;
  descriptor_ = -1;
}

bool CacheFile::try_open(const CacheLayout& layout) {
  descriptor_ = ::open(path_.c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
  writable_ = descriptor_ >= 0;
  const int error = writable_ ? 0 : errno;
  if (error == ENOENT) {
    create(layout);
    return descriptor_ >= 0;
  }
  if (error == EACCES || error == EROFS || error == EPERM) {
    descriptor_ = ::open(path_.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
  }
  if (descriptor_ < 0) fail("open", path_, error);
  struct stat status{};
  CANTILEVER_CHECK(::fstat(descriptor_, &status) == 0 && S_ISREG(status.st_mode),
                   "decoded cache: ", path_.string(), " is not a regular file");
  if (writable_ && !lock(descriptor_, path_)) writable_ = false;
  const std::string reason = difference(layout);
  if (!writable_) {
    if (error != 0 && !reason.empty()) fail("write", path_, error);
    if (!reason.empty()) return false;
    log_warning(concat("decoded cache: ", path_.string(), " ",
                       error != 0 ? "cannot be written" : "is being used by another run",
                       "; its pictures are used, none are added"));
    return true;
  }
  if (!is_at_path()) return false;
  if (!reason.empty()) replace(layout, reason);
  return true;
}

std::string CacheFile::difference(const CacheLayout& layout) const {
  const std::string found = read_front(descriptor_, layout.header.size());
  Header fixed{};
  if (found.size() < sizeof fixed) return "it is cut short";
  std::memcpy(&fixed, found.data(), sizeof fixed);
  if (!std::equal(std::begin(kMagic), std::end(kMagic), fixed.magic)) {
    return "it does not begin as a cache file";
  }
  if (fixed.version != kVersion) {
    return concat("it is of version ", fixed.version, " and this program writes ", kVersion);
  }
  if (bytes() < layout.slots_begin) return "it is cut short";
  if (found != layout.header) return "it was made for other pictures, or is damaged";
  return {};
}

bool CacheFile::is_at_path() const {
  struct stat opened{};
  struct stat named{};
  return ::fstat(descriptor_, &opened) == 0 && ::stat(path_.c_str(), &named) == 0 &&
         opened.st_ino == named.st_ino && opened.st_dev == named.st_dev;
}

int CacheFile::make_file(const CacheLayout& layout, fs::path& temporary) const {
  static std::atomic<unsigned> counter{0};
  temporary = path_;
  temporary += concat(".tmp-", ::getpid(), "-", counter++);
  const int made = ::open(temporary.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
  if (made < 0) fail("write", path_, errno);
  // Locked before it has its name: nobody else can be first.
  int error = ::flock(made, LOCK_EX | LOCK_NB) == 0 ? 0 : errno;
  if (error == 0) error = allocate_range(made, 0, layout.slots_begin);
  if (error == 0) error = write_front(made, layout.header);
  if (error != 0) {
    ::unlink(temporary.c_str());
    ::close(made);
    fail("write", path_, error);
  }
  return made;
}

void CacheFile::create(const CacheLayout& layout) {
  fs::path temporary;
  const int made = make_file(layout, temporary);
  // link() and not rename(): of two processes one gets EEXIST and opens what the other made.
  int error = ::link(temporary.c_str(), path_.c_str()) == 0 ? 0 : errno;
  if (error == EPERM || error == EOPNOTSUPP || error == ENOSYS) {
    error = ::rename(temporary.c_str(), path_.c_str()) == 0 ? 0 : errno;
  }
  ::unlink(temporary.c_str());
  if (error != 0) ::close(made);
  if (error != 0 && error != EEXIST) fail("write", path_, error);
  if (error != 0) return;
  descriptor_ = made;
  writable_ = true;
  tell_of_others(path_);
}

void CacheFile::replace(const CacheLayout& layout, const std::string& reason) {
  log_warning(concat("decoded cache: ", path_.string(), " is made anew: ", reason));
  // Others may have the old file mapped: it stays as it is until they let go.
  fs::path temporary;
  const int made = make_file(layout, temporary);
  if (::rename(temporary.c_str(), path_.c_str()) != 0) {
    const int error = errno;
    ::unlink(temporary.c_str());
    ::close(made);
    fail("write", path_, error);
  }
  close();
  descriptor_ = made;
}

int64_t CacheFile::bytes() const {
  struct stat status{};
  return ::fstat(descriptor_, &status) == 0 ? int64_t{status.st_size} : 0;
}

int CacheFile::allocate(int64_t begin, int64_t end) {
  return allocate_range(descriptor_, begin, end);
}

std::byte* CacheFile::map(int64_t bytes) {
  CANTILEVER_ASSERT(mapped_ == nullptr, "mapped twice");
  const int protection = writable_ ? PROT_READ | PROT_WRITE : PROT_READ;
  void* address =
      ::mmap(nullptr, static_cast<size_t>(bytes), protection, MAP_SHARED, descriptor_, 0);
  if (address == MAP_FAILED) fail("map", path_, errno);
  mapped_ = static_cast<std::byte*>(address);
  mapped_bytes_ = static_cast<size_t>(bytes);
  return mapped_;
}

}  // namespace cantilever
