#include "cantilever/data/source/tar_reader.h"

#include <algorithm>
#include <charconv>
#include <cstdint>

#include "cantilever/base/error.h"

namespace cantilever {
namespace {

constexpr size_t kBlock = 512;
constexpr size_t kMostName = size_t{64} << 10;
constexpr size_t kMostPax = size_t{1} << 20;

// A text field: up to its first NUL.
std::string_view text_field(std::string_view block, size_t at, size_t length) {
  const std::string_view field = block.substr(at, length);
  return field.substr(0, field.find('\0'));
}

// Octal digits between blanks and NULs; false when there is something else.
bool octal_field(std::string_view field, uint64_t& value) {
  const auto blank = [](char byte) { return byte == ' ' || byte == '\0'; };
  while (!field.empty() && blank(field.front())) field.remove_prefix(1);
  while (!field.empty() && blank(field.back())) field.remove_suffix(1);
  value = 0;
  if (field.empty()) return true;
  const auto [end, error] = std::from_chars(field.data(), field.data() + field.size(), value, 8);
  return error == std::errc() && end == field.data() + field.size();
}

// A number: octal, or with the first bit set big-endian in all other bits (GNU, for sizes from
// 8 GiB). False when it is neither, negative or beyond 63 bits.
bool number_field(std::string_view field, uint64_t& value) {
  const auto first = static_cast<unsigned char>(field.front());
  if ((first & 0x80U) == 0) return octal_field(field, value);
  if ((first & 0x40U) != 0) return false;  // negative
  value = first & 0x3FU;
  for (const char byte : field.substr(1)) {
    if (value >> 55 != 0) return false;
    value = value << 8 | static_cast<unsigned char>(byte);
  }
  return true;
}

bool is_zero_block(std::string_view block) {
  return block.find_first_not_of('\0') == std::string_view::npos;
}

}  // namespace

struct TarReader::Header {
  std::string_view block;
  uint64_t size = 0;
  char type = '0';
};

TarReader::TarReader(std::string_view archive, std::string file, size_t start)
    : archive_(archive), file_(std::move(file)), at_(start) {}

void TarReader::check_header(std::string_view block) const {
  uint64_t stated = 0;
  bool good = octal_field(block.substr(148, 8), stated);
  // The sum of all bytes with its own field as blanks; some old writers added signed bytes.
  uint64_t sum = 0;
  int64_t signed_sum = 0;
  for (size_t i = 0; i < kBlock; ++i) {
    const char byte = i >= 148 && i < 156 ? ' ' : block[i];
    sum += static_cast<unsigned char>(byte);
    signed_sum += static_cast<signed char>(byte);
  }
  good = good && (stated == sum || static_cast<int64_t>(stated) == signed_sum);
  CANTILEVER_CHECK(good || at_ > 0, file_,
                   ": not a tar archive (the checksum of its first header is wrong)");
  CANTILEVER_CHECK(good, file_, ": the tar archive is damaged at byte ", at_,
                   ": the checksum of the header there is wrong", " (behind member ",
                   quoted(std::string(text_field(archive_.substr(last_header_, kBlock), 0, 100))),
                   ")");
}

std::string_view TarReader::take_data(size_t header, size_t size, const char* what,
                                      const std::string& name) {
  const size_t begin = header + kBlock;
  CANTILEVER_CHECK(size <= archive_.size() - begin, file_, ": the tar archive is cut off: ", what,
                   name.empty() ? "" : " " + quoted(name), " whose header stands at byte ", header,
                   " claims ", size, " bytes, only ", archive_.size() - begin, " are left");
  const size_t padded = (size + kBlock - 1) / kBlock * kBlock;
  at_ = begin + std::min(padded, archive_.size() - begin);
  return archive_.substr(begin, size);
}

// Records "LENGTH KEY=VALUE\n".
void TarReader::read_pax(std::string_view records, size_t header) {
  const auto check = [&](bool good) {
    CANTILEVER_CHECK(good, file_, ": the tar archive is damaged at byte ", header,
                     ": a pax header is not as it should be");
  };
  while (!records.empty() && records.front() != '\0') {
    size_t length = 0;
    const auto [end, error] =
        std::from_chars(records.data(), records.data() + records.size(), length);
    const auto digits = static_cast<size_t>(end - records.data());
    check(error == std::errc() && length > digits + 2 && length <= records.size() &&
          records[digits] == ' ' && records[length - 1] == '\n');
    const std::string_view record = records.substr(digits + 1, length - digits - 2);
    const size_t equals = record.find('=');
    check(equals != record.npos);
    const std::string_view key = record.substr(0, equals);
    const std::string_view value = record.substr(equals + 1);
    CANTILEVER_CHECK(!key.starts_with("GNU.sparse"), file_,
                     ": the member whose header stands at "
                     "byte ",
                     header,
                     " is a sparse file, which is not read; write the archive "
                     "without --sparse");
    if (key == "path") long_name_ = value;
    if (key == "linkpath") long_link_ = value;
    if (key == "size") {
      const auto [last, failure] =
          std::from_chars(value.data(), value.data() + value.size(), pax_size_);
      check(failure == std::errc() && last == value.data() + value.size());
      has_size_ = true;
    }
    records.remove_prefix(length);
  }
}

bool TarReader::fill(const Header& header, size_t at, TarMember& member) {
  const std::string_view block = header.block;
  member.name.clear();
  member.link.clear();
  if (!long_name_.empty()) {
    member.name = long_name_;
  } else {
    // Only POSIX ustar has a prefix; GNU keeps times in its place.
    if (block.substr(257, 6) == std::string_view("ustar\0", 6)) {
      const std::string_view prefix = text_field(block, 345, 155);
      if (!prefix.empty()) member.name.append(prefix).append("/");
    }
    member.name.append(text_field(block, 0, 100));
  }
  if (long_link_.empty()) {
    member.link.assign(text_field(block, 157, 100));
  } else {
    member.link.assign(long_link_);
  }
  const size_t size = has_size_ ? pax_size_ : header.size;
  long_name_.clear();
  long_link_.clear();
  has_size_ = false;
  last_header_ = at;
  CANTILEVER_CHECK(header.type != 'S', file_, ": member ", quoted(member.name), " (byte ", at,
                   ") is a sparse file, which is not read; write the archive without --sparse");
  CANTILEVER_CHECK(header.type != 'M', file_, ": member ", quoted(member.name), " (byte ", at,
                   ") goes on from another volume; archives in volumes are not read");
  member.kind = TarMember::Kind::kFile;
  if (header.type == '1' || header.type == '2') member.kind = TarMember::Kind::kLink;
  // Before ustar a folder was a name with a slash at its end.
  const bool old_folder = header.type == '\0' && member.name.ends_with('/');
  if ((header.type >= '3' && header.type <= '6') || old_folder) {
    member.kind = TarMember::Kind::kOther;
  }
  // What has no data may state a size all the same.
  member.size = member.kind == TarMember::Kind::kFile ? size : 0;
  member.begin = at + kBlock;
  take_data(at, member.size, "member", member.name);
  return true;
}

bool TarReader::next(TarMember& member) {
  member.header = at_;
  for (;;) {
    const size_t at = at_;
    if (at >= archive_.size()) {
      lacks_end_mark_ = true;
      return false;
    }
    const std::string_view block = archive_.substr(at, kBlock);
    if (is_zero_block(block)) return false;
    CANTILEVER_CHECK(block.size() == kBlock || at > 0, file_, ": not a tar archive: only ",
                     block.size(), " bytes");
    CANTILEVER_CHECK(block.size() == kBlock, file_, ": the tar archive is cut off at byte ", at,
                     ", within a header");
    check_header(block);
    Header header{block, 0, block[156]};
    CANTILEVER_CHECK(number_field(block.substr(124, 12), header.size), file_,
                     ": the tar archive is damaged at byte ", at, ": a size is no number");
    switch (header.type) {
      case 'L':
      case 'K': {
        const std::string_view name = take_data(at, header.size, "a long name");
        CANTILEVER_CHECK(name.size() <= kMostName, file_, ": the name at byte ", at, " has ",
                         name.size(), " bytes");
        (header.type == 'L' ? long_name_ : long_link_) = name.substr(0, name.find('\0'));
        break;
      }
      case 'x':
      case 'X': {
        const std::string_view records = take_data(at, header.size, "a pax header");
        CANTILEVER_CHECK(records.size() <= kMostPax, file_, ": the pax header at byte ", at,
                         " has ", records.size(), " bytes");
        read_pax(records, at);
        CANTILEVER_CHECK(long_name_.size() <= kMostName, file_, ": the name at byte ", at, " has ",
                         long_name_.size(), " bytes");
        break;
      }
      case 'g':  // for the whole archive: comments, as git writes them
      case 'V':  // the name of the volume
        take_data(at, header.size, "a header");
        break;
      default:
        return fill(header, at, member);
    }
  }
}

}  // namespace cantilever
