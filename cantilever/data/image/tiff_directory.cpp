#include "cantilever/data/image/tiff_directory.h"

#include <algorithm>
#include <array>

#include "cantilever/base/error.h"
#include "cantilever/data/image/exif.h"

namespace cantilever {
namespace {

using std::string_view_literals::operator""sv;

constexpr uint32_t kOrientation = 274;
constexpr uint32_t kXmp = 700;

// Bytes a value of a type; 0 for a type that Pillow does not know.
size_t type_size(uint32_t type) {
  constexpr std::array<uint8_t, 17> kSizes = {0, 1, 1, 2, 4, 8, 1, 1, 2, 4, 8, 4, 8, 4, 0, 0, 8};
  return type < kSizes.size() ? kSizes[type] : 0;
}

bool is_integer_type(uint32_t type) {
  return type == 3 || type == 4 || type == 6 || type == 8 || type == 9 || type == 13 || type == 16;
}

bool is_signed_type(uint32_t type) {
  return type == 6 || type == 8 || type == 9;
}

uint64_t integer(std::string_view bytes, bool little_endian) {
  uint64_t value = 0;
  for (size_t i = 0; i < bytes.size(); ++i) {
    const size_t at = little_endian ? bytes.size() - 1 - i : i;
    value = value << 8U | static_cast<unsigned char>(bytes[at]);
  }
  return value;
}

}  // namespace

TiffDirectory::TiffDirectory(std::span<const std::byte> encoded)
    : file_(reinterpret_cast<const char*>(encoded.data()), encoded.size()) {
  CANTILEVER_CHECK(file_.size() >= 8, "TIFF: truncated in its header");
  little_endian_ = file_[0] == 'I';
  // Pillow looks at the third byte only, so that BigTIFF is known in little-endian files.
  big_ = file_[2] == '+';
  const auto first = big_ ? value(8, 8) : value(4, 4);
  CANTILEVER_CHECK(first.has_value(), "TIFF: truncated in its header");
  CANTILEVER_CHECK(*first != 0, "TIFF: it has no picture");
  offset_ = *first;
  read_entries();
}

std::optional<uint64_t> TiffDirectory::value(uint64_t at, size_t length) const {
  if (at > file_.size() || file_.size() - at < length) return std::nullopt;
  return integer(file_.substr(at, length), little_endian_);
}

void TiffDirectory::read_entries() {
  const size_t word = big_ ? 8 : 4;  // of a count, an offset, a value in place
  const size_t count_size = big_ ? 8 : 2;
  const auto count = value(offset_, count_size);
  if (!count) return;
  uint64_t data_size = 0;
  std::vector<bool> seen(size_t{1} << 16U);
  uint64_t at = offset_ + count_size;
  for (uint64_t i = 0; i < *count; ++i, at += 4 + 2 * word) {
    const auto in_place = value(at + 4 + word, word);
    if (!in_place) return;
    const auto tag = static_cast<uint32_t>(*value(at, 2));
    const auto type = static_cast<uint32_t>(*value(at + 2, 2));
    const uint64_t values = *value(at + 4, word);
    const size_t unit = type_size(type);
    if (unit == 0 || values == 0 || seen[tag]) continue;
    uint64_t from = at + 4 + word;
    // Also keeps the product in bounds.
    const uint64_t size = values > file_.size() ? file_.size() + word : values * unit;
    if (size > word) {
      from = *in_place;
      if (from >> 63U != 0) continue;
      // More data than the file has in all.
      data_size += size;
      if (data_size > file_.size()) continue;
      if (from > file_.size() || file_.size() - from < size) return;
    }
    seen[tag] = true;
    entries_.push_back({tag, type, file_.substr(from, size)});
  }
}

const TiffDirectory::Entry* TiffDirectory::find(uint32_t tag) const {
  const auto found = std::find_if(entries_.begin(), entries_.end(),
                                  [&](const Entry& entry) { return entry.tag == tag; });
  return found == entries_.end() ? nullptr : &*found;
}

std::optional<std::vector<int64_t>> TiffDirectory::numbers(uint32_t tag) const {
  const Entry* entry = find(tag);
  if (entry == nullptr) return std::nullopt;
  CANTILEVER_CHECK(is_integer_type(entry->type), "TIFF: tag ", tag, " is of type ", entry->type,
                   ", which is not one of integers");
  const size_t unit = type_size(entry->type);
  std::vector<int64_t> values;
  for (size_t at = 0; at < entry->data.size(); at += unit) {
    const uint64_t raw = integer(entry->data.substr(at, unit), little_endian_);
    const size_t unused = 64 - 8 * unit;
    const auto value = static_cast<int64_t>(raw << unused);
    values.push_back(is_signed_type(entry->type) ? value >> unused : static_cast<int64_t>(raw));
  }
  return values;
}

std::optional<int64_t> TiffDirectory::number(uint32_t tag) const {
  const auto values = numbers(tag);
  return values ? std::optional<int64_t>(values->front()) : std::nullopt;
}

int TiffDirectory::orientation() const {
  int64_t found = 0;
  if (const Entry* entry = find(kOrientation)) {
    if (is_integer_type(entry->type)) found = *number(kOrientation);
  } else if (const Entry* xmp = find(kXmp)) {
    found = xmp_orientation(xmp->data);
  }
  return found >= 1 && found <= 8 ? static_cast<int>(found) : 1;
}

}  // namespace cantilever
