#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>

namespace cantilever {

// A whole file mapped for reading; the view stays valid while the object lives. An empty file is an
// empty view. Throws Error with path and reason. A file that another process cuts short while it is
// mapped makes reads fault (SIGBUS); data sets and checkpoints are taken to be at rest.
class MappedFile {
 public:
  MappedFile() = default;
  explicit MappedFile(const std::filesystem::path& path);
  ~MappedFile();
  MappedFile(MappedFile&& other) noexcept;
  MappedFile& operator=(MappedFile&& other) noexcept;

  // Maps another file in place of the one before.
  void map(const std::filesystem::path& path);
  // The same for the first `size` bytes of an open regular file, which may be closed afterwards;
  // path() is empty then. Allocates nothing.
  void map(int descriptor, size_t size);

  std::span<const std::byte> bytes() const { return bytes_; }
  std::string_view text() const {
    return {reinterpret_cast<const char*>(bytes_.data()), bytes_.size()};
  }
  const std::filesystem::path& path() const { return path_; }

 private:
  void map_descriptor(int descriptor, size_t size);
  void unmap() noexcept;

  std::filesystem::path path_;
  std::span<const std::byte> bytes_;
};

// A number that is another when path, size or time of change of the file is. 0 when it is not
// there.
uint64_t file_fingerprint(const std::filesystem::path& path);

// The whole content. Throws Error with path and reason.
std::string read_file(const std::filesystem::path& path);

// A file written beside its final place and renamed onto it: a reader sees the old content or the
// whole new one, also after a kill or a full disk. commit() flushes to disk, renames and flushes
// the folder; without it the destructor removes what was written. Throws Error with path and
// reason.
class AtomicFile {
 public:
  explicit AtomicFile(const std::filesystem::path& path);
  ~AtomicFile();
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;

  void write(std::span<const std::byte> bytes);
  void write(std::string_view text);
  void commit();

 private:
  std::filesystem::path path_;
  std::filesystem::path temporary_;
  int descriptor_ = -1;
};

void write_file_atomically(const std::filesystem::path& path, std::string_view content);

// fsync of a folder, so that renames in it survive a power cut.
void sync_folder(const std::filesystem::path& folder);

// Makes the folder and its parents; Error when something that is no folder stands in the way.
void make_folders(const std::filesystem::path& folder);

// If `content` is a Git LFS pointer (what a clone without LFS leaves in place of the data), a text
// that says so with the size of the real file; otherwise empty.
std::string describe_lfs_pointer(std::span<const std::byte> content);

}  // namespace cantilever
