#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace cantilever {

// One member of a tar archive.
struct TarMember {
  enum class Kind { kFile, kLink, kOther };  // kOther: a folder, device, pipe

  Kind kind = Kind::kFile;
  std::string name;   // complete, as stored
  std::string link;   // where a link points
  size_t header = 0;  // a reader that starts here gives this member first
  size_t begin = 0;   // of its data
  size_t size = 0;
};

// Walks through the headers of a tar archive in memory: ustar, pax ("path", "size", "linkpath"),
// GNU (long names, sizes beyond 8 GiB), and what came before ustar. Nothing is copied but names.
class TarReader {
 public:
  // `file` names the archive in messages.
  TarReader(std::string_view archive, std::string file, size_t start = 0);

  // The next member; false at the end. Throws Error with the offset: a wrong checksum, an archive
  // that is cut off, sparse files, archives in several volumes, absurd names.
  bool next(TarMember& member);

  // Whether the end mark (a block of zeros) was missing at the end.
  bool lacks_end_mark() const { return lacks_end_mark_; }

 private:
  struct Header;

  void check_header(std::string_view block) const;
  void read_pax(std::string_view records, size_t header);
  std::string_view take_data(size_t header, size_t size, const char* what,
                             const std::string& name = "");
  bool fill(const Header& header, size_t at, TarMember& member);

  std::string_view archive_;
  std::string file_;
  size_t at_;
  bool lacks_end_mark_ = false;
  size_t last_header_ = 0;  // of the member before, for messages
  // What extension headers say of the next member.
  std::string long_name_, long_link_;
  bool has_size_ = false;
  size_t pax_size_ = 0;
};

}  // namespace cantilever
