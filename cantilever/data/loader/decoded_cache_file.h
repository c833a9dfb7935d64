#pragma once

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "cantilever/data/loader/decoded_cache_tiers.h"

namespace cantilever {

// Layout of a cache file, in the byte order of the machine:
//
//   header   magic, version, type, rows, values, sizes, key; zero bytes up to a page
//   entries  rows x {sum, slot + 1}, up to a page; a slot of 0 is none
//   slots    pictures, in the order in which they came
//
// An entry gets its slot after the picture is complete. When the process is killed the stores it
// made stay, in their order, so no entry shows half a picture. A power cut may keep the entry's
// page and lose the picture's: the sum finds that out when the row is first used. A picture that
// has a file of its own has that file's path, size and time in its sum, and the sum's last bit says
// so.
struct CacheEntry {
  uint64_t sum = 0;
  uint64_t slot_plus_one = 0;
};

struct CacheLayout {
  CacheLayout(const CachePlan& plan, const std::string& key);

  std::string header;  // what the file must begin with
  int64_t entries_begin = 0;
  int64_t slots_begin = 0;
  int64_t row_bytes = 0;
  std::string file_name;  // "decoded-0123456789abcdef.cache"

  int64_t slot_offset(int64_t slot) const { return slots_begin + slot * row_bytes; }
  // Slots that lie wholly in a file of that size.
  int64_t slots_in(int64_t file_bytes) const;
};

// An open cache file and the lock on it, which the kernel gives back when the process ends.
class CacheFile {
 public:
  // Finds the file of the layout in the folder or makes it. writable() is false when another
  // process has the lock or the file system is read-only: named in a warning. A file with other
  // content (version, key, damage) is replaced, with a warning. Throws Error.
  CacheFile(const std::filesystem::path& folder, const CacheLayout& layout);
  ~CacheFile();
  CacheFile(const CacheFile&) = delete;
  CacheFile& operator=(const CacheFile&) = delete;

  const std::filesystem::path& path() const { return path_; }
  bool writable() const { return writable_; }
  int64_t bytes() const;
  // A new empty file in its place, under the lock; the old one is named `reason`.
  void replace(const CacheLayout& layout, const std::string& reason);
  // Makes room for bytes begin .. end - 1 on the disk, so that writing there cannot fail. 0 or
  // errno.
  int allocate(int64_t begin, int64_t end);
  // Maps the first `bytes`, which may be more than the file has now. Throws Error.
  std::byte* map(int64_t bytes);

 private:
  bool try_open(const CacheLayout& layout);
  // Why the file is not the one of the layout; empty when it is.
  std::string difference(const CacheLayout& layout) const;
  bool is_at_path() const;
  // A locked, empty cache file under a temporary name.
  int make_file(const CacheLayout& layout, std::filesystem::path& temporary) const;
  void create(const CacheLayout& layout);
  void close();

  std::filesystem::path path_;
  int descriptor_ = -1;
  bool writable_ = false;
  std::byte* mapped_ = nullptr;
  size_t mapped_bytes_ = 0;
};

}  // namespace cantilever
