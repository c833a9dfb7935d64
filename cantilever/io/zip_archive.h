#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace cantilever {

// The records of a zip or zip64 archive in memory, found through its central directory as every zip
// reader does. Stored records only: torch.save never compresses. Checksums are not compared:
// PyTorch's own reader does not either, and can be told not to write them. Used by the .cpp files
// of this room only.
class ZipArchive {
 public:
  // Keeps the span. `where` starts every message. Throws Error when the directory is missing (a
  // file cut short), damaged or lists a name twice.
  ZipArchive(std::span<const std::byte> file, std::string where);

  bool contains(std::string_view name) const { return find(name) != nullptr; }
  // Throws Error when there is no such record, or it is compressed, encrypted or outside the file.
  std::span<const std::byte> record(std::string_view name) const;
  std::vector<std::string_view> names() const;  // sorted

 private:
  struct Entry {
    std::string_view name;
    uint16_t flags;
    uint16_t method;
    uint64_t stored_size;
    uint64_t size;
    uint64_t header_offset;
  };
  struct Directory {
    uint64_t begin, size, entries;
  };

  Directory find_directory() const;
  Directory read_zip64_end(uint64_t end) const;
  void read_entries(const Directory& directory);
  Entry read_entry(std::span<const std::byte>& rest) const;
  const Entry* find(std::string_view name) const;

  std::span<const std::byte> file_;
  std::string where_;
  uint64_t directory_begin_ = 0;
  std::vector<Entry> entries_;  // sorted by name
};

}  // namespace cantilever
