#include "cantilever/io/zip_archive.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "cantilever/base/error.h"

namespace cantilever {
namespace {

// Signatures and layouts: APPNOTE.TXT of PKWARE, sections 4.3.7, 4.3.12 and 4.3.14 to 4.3.16.
constexpr uint32_t kLocalHeader = 0x04034b50;
constexpr uint32_t kCentralHeader = 0x02014b50;
constexpr uint32_t kEnd = 0x06054b50;
constexpr uint32_t kZip64End = 0x06064b50;
constexpr uint32_t kZip64Locator = 0x07064b50;
constexpr size_t kLocalHeaderBytes = 30;
constexpr size_t kCentralHeaderBytes = 46;
constexpr size_t kEndBytes = 22;
constexpr size_t kZip64EndBytes = 56;
constexpr size_t kZip64LocatorBytes = 20;
constexpr size_t kMaxCommentBytes = 65535;
constexpr uint16_t kZip64Extra = 1;
constexpr uint16_t kEncryptedFlags = 0x0041;  // traditional and strong encryption

template <class T>
T load(std::span<const std::byte> bytes, size_t offset) {
  CANTILEVER_ASSERT(offset + sizeof(T) <= bytes.size());
  T value;
  std::memcpy(&value, bytes.data() + offset, sizeof value);
  return value;
}

std::string_view as_text(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

}  // namespace

ZipArchive::ZipArchive(std::span<const std::byte> file, std::string where)
    : file_(file), where_(std::move(where)) {
  const Directory directory = find_directory();
  directory_begin_ = directory.begin;
  read_entries(directory);
}

ZipArchive::Directory ZipArchive::find_directory() const {
  const size_t furthest = std::min(file_.size(), kEndBytes + kMaxCommentBytes);
  for (size_t back = kEndBytes; back <= furthest; ++back) {
    const size_t end = file_.size() - back;
    if (load<uint32_t>(file_, end) != kEnd) continue;
    if (load<uint16_t>(file_, end + 20) != back - kEndBytes) continue;
    Directory directory{load<uint32_t>(file_, end + 16), load<uint32_t>(file_, end + 12),
                        load<uint16_t>(file_, end + 10)};
    uint64_t limit = end;
    if (end >= kZip64LocatorBytes &&
        load<uint32_t>(file_, end - kZip64LocatorBytes) == kZip64Locator) {
      limit = end - kZip64LocatorBytes;
      directory = read_zip64_end(limit);
    }
    CANTILEVER_CHECK(directory.begin <= limit && directory.size <= limit - directory.begin, where_,
                     ": the zip directory is said to be ", directory.size, " bytes at byte ",
                     directory.begin, ", outside this file of ", file_.size(), " bytes");
    return directory;
  }
  throw_error(concat(where_, ": incomplete file: a zip archive ends with a directory, and the ",
                     file_.size(), " bytes found here have none (an interrupted download?); ",
                     "compare with the size its source states"));
}

// `locator`: where the zip64 locator stands.
ZipArchive::Directory ZipArchive::read_zip64_end(uint64_t locator) const {
  const auto begin = load<uint64_t>(file_, locator + 8);
  CANTILEVER_CHECK(begin <= locator && locator - begin >= kZip64EndBytes &&
                       load<uint32_t>(file_, begin) == kZip64End,
                   where_, ": damaged zip archive: its zip64 directory end is said to be at byte ",
                   begin, " of ", file_.size(), ", where none is");
  return {load<uint64_t>(file_, begin + 48), load<uint64_t>(file_, begin + 40),
          load<uint64_t>(file_, begin + 32)};
}

void ZipArchive::read_entries(const Directory& directory) {
  std::span<const std::byte> rest = file_.subspan(directory.begin, directory.size);
  while (!rest.empty()) entries_.push_back(read_entry(rest));
  CANTILEVER_CHECK(entries_.size() == directory.entries, where_,
                   ": damaged zip archive: its directory holds ", entries_.size(),
                   " records, its end says ", directory.entries);
  std::sort(entries_.begin(), entries_.end(),
            [](const Entry& a, const Entry& b) { return a.name < b.name; });
  const auto twice =
      std::adjacent_find(entries_.begin(), entries_.end(),
                         [](const Entry& a, const Entry& b) { return a.name == b.name; });
  CANTILEVER_CHECK(twice == entries_.end(), where_, ": the zip archive has two records called ",
                   quoted(std::string(twice->name)));
}

// Takes one header of the central directory off `rest`.
ZipArchive::Entry ZipArchive::read_entry(std::span<const std::byte>& rest) const {
  CANTILEVER_CHECK(rest.size() >= kCentralHeaderBytes && load<uint32_t>(rest, 0) == kCentralHeader,
                   where_, ": damaged zip archive: no record header ", rest.size(),
                   " bytes before the directory's end");
  const size_t name_bytes = load<uint16_t>(rest, 28);
  const size_t extra_bytes = load<uint16_t>(rest, 30);
  const size_t total = kCentralHeaderBytes + name_bytes + extra_bytes + load<uint16_t>(rest, 32);
  CANTILEVER_CHECK(total <= rest.size(), where_,
                   ": damaged zip archive: a record header reaches beyond the directory");
  Entry entry{as_text(rest.subspan(kCentralHeaderBytes, name_bytes)),
              load<uint16_t>(rest, 8),
              load<uint16_t>(rest, 10),
              load<uint32_t>(rest, 20),
              load<uint32_t>(rest, 24),
              load<uint32_t>(rest, 42)};
  // Numbers of 32 ones stand in the zip64 field instead, in this order.
  std::span<const std::byte> extra = rest.subspan(kCentralHeaderBytes + name_bytes, extra_bytes);
  while (extra.size() >= 4) {
    const size_t field_bytes = load<uint16_t>(extra, 2);
    if (field_bytes > extra.size() - 4) break;
    if (load<uint16_t>(extra, 0) == kZip64Extra) {
      std::span<const std::byte> field = extra.subspan(4, field_bytes);
      for (uint64_t* number : {&entry.size, &entry.stored_size, &entry.header_offset}) {
        if (*number != 0xffffffffu) continue;
        CANTILEVER_CHECK(field.size() >= 8, where_, ": damaged zip archive: the zip64 field of ",
                         quoted(std::string(entry.name)), " is too short");
        *number = load<uint64_t>(field, 0);
        field = field.subspan(8);
      }
    }
    extra = extra.subspan(4 + field_bytes);
  }
  rest = rest.subspan(total);
  return entry;
}

const ZipArchive::Entry* ZipArchive::find(std::string_view name) const {
  const auto found =
      std::lower_bound(entries_.begin(), entries_.end(), name,
                       [](const Entry& entry, std::string_view key) { return entry.name < key; });
  return found != entries_.end() && found->name == name ? &*found : nullptr;
}

std::vector<std::string_view> ZipArchive::names() const {
  std::vector<std::string_view> names;
  for (const Entry& entry : entries_) names.push_back(entry.name);
  return names;
}

std::span<const std::byte> ZipArchive::record(std::string_view name) const {
  const Entry* entry = find(name);
  const std::string shown = quoted(std::string(name));
  CANTILEVER_CHECK(entry != nullptr, where_, ": the archive has no record ", shown);
  CANTILEVER_CHECK((entry->flags & kEncryptedFlags) == 0, where_, ": record ", shown,
                   " is encrypted");
  CANTILEVER_CHECK(entry->method == 0 && entry->size == entry->stored_size, where_, ": record ",
                   shown, " is compressed (method ", entry->method,
                   "); torch.save stores its records as they are, so this archive was packed anew");
  const uint64_t header = entry->header_offset;
  CANTILEVER_CHECK(header <= directory_begin_ && directory_begin_ - header >= kLocalHeaderBytes &&
                       load<uint32_t>(file_, header) == kLocalHeader,
                   where_, ": damaged zip archive: record ", shown, " is said to be at byte ",
                   header, " of ", file_.size(), ", where none is");
  const uint64_t name_bytes = load<uint16_t>(file_, header + 26);
  const uint64_t begin =
      header + kLocalHeaderBytes + name_bytes + load<uint16_t>(file_, header + 28);
  CANTILEVER_CHECK(begin <= directory_begin_ && entry->size <= directory_begin_ - begin, where_,
                   ": damaged or incomplete file: record ", shown, " of ", entry->size,
                   " bytes at byte ", begin, " does not fit before the directory at byte ",
                   directory_begin_);
  CANTILEVER_CHECK(as_text(file_.subspan(header + kLocalHeaderBytes, name_bytes)) == name, where_,
                   ": damaged zip archive: the header at byte ", header, " is not that of ", shown);
  return file_.subspan(begin, entry->size);
}

}  // namespace cantilever
