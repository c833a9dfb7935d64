#include "cantilever/data/source/tar_samples.h"

#include <algorithm>
#include <array>
#include <unordered_map>

#include "cantilever/base/error.h"
#include "cantilever/data/source/tar_reader.h"

namespace cantilever {
namespace {

using Part = TarSample::Part;

// In the order in which they are preferred when a sample has several.
constexpr std::array<std::string_view, 14> kPictures = {"jpg", "jpeg", "png",  "webp", "gif",
                                                        "bmp", "tif",  "tiff", "ppm",  "pgm",
                                                        "pbm", "pnm",  "jfif", "jpe"};
constexpr int kNever = 1000;
// Bytes of all extensions of a sample: they are searched at every member.
constexpr size_t kMostExtensions = size_t{8} << 10;

// A member's name in its parts.
struct MemberName {
  std::string_view key;
  std::string extension;
};

bool split_name(std::string_view name, MemberName& out) {
  const size_t slash = name.rfind('/');
  const size_t base = slash == name.npos ? 0 : slash + 1;
  const size_t dot = name.find('.', base);
  // Without a key: hidden files, the "._x" of macOS.
  if (dot == name.npos || dot == base || dot + 1 == name.size()) return false;
  out.key = name.substr(0, dot);
  out.extension = name.substr(dot + 1);
  for (char& byte : out.extension) {
    if (byte >= 'A' && byte <= 'Z') byte = static_cast<char>(byte + 32);
  }
  return true;
}

std::string_view last_extension(std::string_view extension) {
  return extension.substr(extension.rfind('.') + 1);
}

// How much an extension is wanted; lower is more, kNever is not at all.
class Wishes {
 public:
  explicit Wishes(const TableOptions& options)
      : picture_(options.image_column), caption_(options.caption_column) {
    named_picture_ = is_picture_extension(picture_);
    default_caption_ = caption_ == "caption" || caption_ == "text" || caption_ == "txt";
  }

  int picture(std::string_view extension) const {
    if (named_picture_) return extension == picture_ ? 0 : kNever;
    const auto found = std::find(kPictures.begin(), kPictures.end(), extension);
    if (found != kPictures.end()) return static_cast<int>(found - kPictures.begin());
    return is_picture_extension(extension) ? 100 : kNever;
  }

  int caption(std::string_view extension) const {
    if (is_picture_extension(extension)) return kNever;
    if (extension == caption_) return 0;
    if (default_caption_) {
      constexpr std::array<std::string_view, 6> kTexts = {"txt",    "text",    "caption",
                                                          "txt.gz", "text.gz", "caption.gz"};
      const auto found = std::find(kTexts.begin(), kTexts.end(), extension);
      if (found != kTexts.end()) return 1 + static_cast<int>(found - kTexts.begin());
    }
    return extension == "json" ? 50 : extension == "json.gz" ? 51 : kNever;
  }

 private:
  std::string picture_;
  std::string caption_;
  bool named_picture_ = false;
  bool default_caption_ = false;
};

Part caption_part(std::string_view extension) {
  if (extension.ends_with(".gz")) {
    return extension.ends_with("json.gz") ? Part::kGzipJson : Part::kGzip;
  }
  return last_extension(extension) == "json" ? Part::kJson : Part::kPlain;
}

class Collector {
 public:
  Collector(std::string file, const TableOptions& options)
      : file_(std::move(file)), wishes_(options) {}

  void add(const TarMember& member) {
    MemberName name;
    if (member.kind == TarMember::Kind::kOther || !split_name(member.name, name)) return;
    if (member.kind == TarMember::Kind::kLink) ++samples_.links;
    ++samples_.extensions[name.extension];
    const auto [found, fresh] = open_.try_emplace(std::string(name.key));
    Open& open = found->second;
    if (fresh) {
      open.sample = samples_.list.size();
      samples_.list.push_back({});
      samples_.list.back().header = member.header;
    }
    const std::string marked = concat("/", name.extension, "/");
    CANTILEVER_CHECK(open.extensions.find(marked) == std::string::npos, file_,
                     ": two members of sample ", quoted(std::string(name.key)),
                     " have the extension ", quoted(name.extension), " (the second at byte ",
                     member.header, "); a sample can have each only once");
    open.extensions += marked;
    CANTILEVER_CHECK(open.extensions.size() <= kMostExtensions, file_, ": sample ",
                     quoted(std::string(name.key), 200), " has too many members (the last at byte ",
                     member.header, "); this is no WebDataset shard");
    take(member, name.extension, open);
  }

  TarSamples finish() && {
    for (const TarSample& sample : samples_.list) {
      samples_.without_picture += sample.picture == Part::kNone ? 1 : 0;
      samples_.without_caption += sample.caption == Part::kNone ? 1 : 0;
    }
    return std::move(samples_);
  }

 private:
  // A sample while the archive is walked through; its members need not stand together.
  struct Open {
    size_t sample = 0;
    int picture_rank = kNever;
    int caption_rank = kNever;
    std::string extensions;  // "/jpg//txt/"
  };

  void take(const TarMember& member, const std::string& extension, Open& open) {
    TarSample& sample = samples_.list[open.sample];
    const bool link = member.kind == TarMember::Kind::kLink;
    const int picture_rank = wishes_.picture(extension);
    if (picture_rank < open.picture_rank) {
      open.picture_rank = picture_rank;
      sample.header = member.header;
      sample.picture_begin = member.begin;
      sample.picture_size = member.size;
      sample.picture = link ? Part::kLink : Part::kPlain;
    }
    const int caption_rank = wishes_.caption(extension);
    if (caption_rank < open.caption_rank) {
      CANTILEVER_CHECK(member.size <= UINT32_MAX, file_, ": the caption ", quoted(member.name),
                       " has ", member.size, " bytes");
      open.caption_rank = caption_rank;
      sample.caption_begin = member.begin;
      sample.caption_size = static_cast<uint32_t>(member.size);
      sample.caption = link ? Part::kLink : caption_part(extension);
    }
  }

  std::string file_;
  Wishes wishes_;
  TarSamples samples_;
  std::unordered_map<std::string, Open> open_;
};

}  // namespace

bool is_picture_extension(std::string_view extension) {
  return std::find(kPictures.begin(), kPictures.end(), last_extension(extension)) !=
         kPictures.end();
}

TarSamples find_tar_samples(std::string_view archive, const std::string& file,
                            const TableOptions& options) {
  TarReader reader(archive, file);
  Collector collector(file, options);
  TarMember member;
  while (reader.next(member)) collector.add(member);
  TarSamples samples = std::move(collector).finish();
  samples.lacks_end_mark = reader.lacks_end_mark();
  return samples;
}

}  // namespace cantilever
