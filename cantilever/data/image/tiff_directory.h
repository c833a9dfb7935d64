#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

namespace cantilever {

// Tags of the first directory of a TIFF (TIFF 6.0 section 2; little-endian BigTIFF too), read with
// Pillow's tolerance: an entry whose data lies outside the file ends the directory, of two entries
// with one tag the first counts, values of unknown types are passed over.
class TiffDirectory {
 public:
  // `encoded` must outlive the object. Throws Error when there is no header.
  explicit TiffDirectory(std::span<const std::byte> encoded);

  bool little_endian() const { return little_endian_; }
  uint64_t offset() const { return offset_; }
  bool has(uint32_t tag) const { return find(tag) != nullptr; }
  // Nothing when the tag is missing. Error when its values are not integers.
  std::optional<std::vector<int64_t>> numbers(uint32_t tag) const;
  // The first of them.
  std::optional<int64_t> number(uint32_t tag) const;
  // The orientation tag, else that of the XMP packet: 1..8; 1 where nothing says so.
  int orientation() const;

 private:
  struct Entry {
    uint32_t tag;
    uint32_t type;
    std::string_view data;
  };

  std::optional<uint64_t> value(uint64_t at, size_t length) const;
  void read_entries();
  const Entry* find(uint32_t tag) const;

  std::string_view file_;
  bool little_endian_ = true;
  bool big_ = false;
  uint64_t offset_ = 0;
  std::vector<Entry> entries_;
};

}  // namespace cantilever
