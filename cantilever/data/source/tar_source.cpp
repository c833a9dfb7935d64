#include "cantilever/data/source/tar_source.h"
#include "cantilever/data/source/table_fingerprint.h"

#include <array>
#include <atomic>
#include <optional>

#include "cantilever/base/error.h"
#include "cantilever/base/file.h"
#include "cantilever/base/log.h"
#include "cantilever/data/source/gzip.h"
#include "cantilever/data/source/json_fields.h"
#include "cantilever/data/source/tar_reader.h"
#include "cantilever/data/source/tar_samples.h"
#include "cantilever/io/json.h"

namespace cantilever {
namespace {

using Part = TarSample::Part;

// What all compressed archives of the program may unpack to. There is no random access into a gzip
// stream, so they are held in memory.
constexpr size_t kUnpackedLimit = size_t{256} << 20;
constexpr size_t kCaptionLimit = size_t{16} << 20;  // a compressed caption, a .json that is parsed
std::atomic<size_t> unpacked_bytes{0};

// The bytes of an archive: mapped, or unpacked.
class Archive {
 public:
  explicit Archive(const std::filesystem::path& path) {
    const std::string file = path.string();
    mapped_.map(path);
    view_ = mapped_.text();
    CANTILEVER_CHECK(!view_.empty(), file, ": the file is empty (0 bytes), not a tar archive");
    const std::string pointer = describe_lfs_pointer(mapped_.bytes());
    CANTILEVER_CHECK(pointer.empty(), file, ": ", pointer);
    for (const auto& [magic, name] :
         std::array<std::pair<std::string_view, const char*>, 3>{{{"\x28\xb5\x2f\xfd", "zstd"},
                                                                  {"\xfd"
                                                                   "7zXZ",
                                                                   "xz"},
                                                                  {"BZh", "bzip2"}}}) {
      CANTILEVER_CHECK(!view_.starts_with(magic), file, ": the archive is compressed by ", name,
                       ", which is not read; unpack it to a .tar first");
    }
    if (is_gzip(view_)) unpack(file);
  }
  ~Archive() { unpacked_bytes -= counted_; }
  Archive(const Archive&) = delete;
  Archive& operator=(const Archive&) = delete;

  std::string_view view() const { return view_; }
  bool unpacked() const { return counted_ > 0; }

 private:
  void unpack(const std::string& file) {
    const size_t taken = unpacked_bytes.load();
    try {
      unpacked_ = unpack_gzip(view_, kUnpackedLimit - std::min(taken, kUnpackedLimit), file);
    } catch (const Error& error) {
      if (std::string_view(error.what()).find("unpacks to more") == std::string_view::npos) throw;
      throw_error(concat(file,
                         ": compressed archives have no random access and are held in memory, "
                         "all together at most ",
                         kUnpackedLimit >> 20,
                         " MiB; this one would be more: unpack it first (gunzip)"));
    }
    counted_ = unpacked_.size();
    unpacked_bytes += counted_;
    view_ = unpacked_;
    mapped_ = MappedFile();
  }

  MappedFile mapped_;
  std::string unpacked_;
  std::string_view view_;
  size_t counted_ = 0;
};

class TarSource final : public ExampleSource {
 public:
  TarSource(const std::filesystem::path& path, const TableOptions& options)
      : file_(path.string()), options_(options), archive_(std::make_shared<Archive>(path)) {
    samples_ = find_tar_samples(archive_->view(), file_, options);
    if (options.seen_columns) {
      for (const auto& [extension, count] : samples_.extensions) {
        const bool picture = is_picture_extension(extension);
        options.seen_columns->push_back(
            {extension, picture ? "picture" : "bytes", !picture, picture, picture});
      }
    }
    check();
  }

  int64_t size() const override { return static_cast<int64_t>(samples_.list.size()); }
  uint64_t fingerprint() const override { return table_fingerprint(file_, options_); }

  void read(int64_t row, uint64_t draw, Example& example) const override {
    const TarSample& sample = find(row);
    CANTILEVER_CHECK(sample.picture == Part::kPlain, place(row), ": the sample has ",
                     sample.picture == Part::kLink
                         ? "only a link for a picture; links in archives are not followed"
                         : "no picture");
    read_caption(row, draw, example.caption);
    example.row = row;
    // As `datasets` gives pictures of WebDataset shards.
    example.image_kind = ImageKind::kImageFeature;
    example.encoded = std::as_bytes(
        std::span(archive_->view().substr(sample.picture_begin, sample.picture_size)));
    example.owner = archive_;
    set_name(sample, example.image_path);
  }

  void read_caption(int64_t row, uint64_t draw, std::string& caption) const override {
    const TarSample& sample = find(row);
    switch (sample.caption) {
      case Part::kPlain:
        caption.assign(stored_caption(sample));
        return;
      case Part::kGzip:
        caption = unpack_gzip(stored_caption(sample), kCaptionLimit, place(row));
        return;
      case Part::kJson:
        read_json(stored_caption(sample), row, draw, caption);
        return;
      case Part::kGzipJson:
        read_json(unpack_gzip(stored_caption(sample), kCaptionLimit, place(row)), row, draw,
                  caption);
        return;
      default:
        throw_error(concat(place(row), ": the sample has ",
                           sample.caption == Part::kLink
                               ? "only a link for a caption; links in archives are not followed"
                               : "no caption"));
    }
  }

  int64_t caption_count(int64_t row) const override {
    const TarSample& sample = find(row);
    if (sample.caption != Part::kJson && sample.caption != Part::kGzipJson) return 1;
    std::string text(stored_caption(sample));
    if (sample.caption == Part::kGzipJson) text = unpack_gzip(text, kCaptionLimit, place(row));
    const Json object = parse_member(text, row);
    const Json* value = object.is_object() ? find_caption(object) : nullptr;
    return value != nullptr && value->is_array() ? static_cast<int64_t>(value->size()) : 1;
  }

  std::string place(int64_t row) const override {
    std::string name;
    set_name(find(row), name);
    return concat(name, " (sample ", row, ")");
  }

  std::string description() const override {
    std::string extensions;
    size_t named = 0;
    for (const auto& [extension, count] : samples_.extensions) {
      if (named++ == 12) break;
      extensions += concat(extensions.empty() ? "" : ", ", extension, " (", count, ")");
    }
    return concat(file_, " (", size(), " samples, WebDataset tar",
                  archive_->unpacked() ? ", unpacked in memory" : "", ", members ", extensions,
                  samples_.without_picture == 0
                      ? ""
                      : concat(", ", samples_.without_picture, " without a picture"),
                  samples_.without_caption == 0
                      ? ""
                      : concat(", ", samples_.without_caption, " without a caption"),
                  ")");
  }

 private:
  const TarSample& find(int64_t row) const {
    CANTILEVER_CHECK(row >= 0 && row < size(), file_, ": there is no row ", row, ", only ", size());
    return samples_.list[static_cast<size_t>(row)];
  }

  std::string_view stored_caption(const TarSample& sample) const {
    return archive_->view().substr(sample.caption_begin, sample.caption_size);
  }

  void check() const {
    const auto count = size();
    const std::string what = description();
    CANTILEVER_CHECK(count > 0, file_,
                     ": there are no rows: the archive has no members KEY.jpg, "
                     "KEY.txt ... as WebDataset has them");
    CANTILEVER_CHECK(
        samples_.without_picture < count, what, ": no sample has a picture",
        is_picture_extension(options_.image_column)
            ? concat(" with the extension ", quoted(options_.image_column), " (--image_column)")
            : "");
    CANTILEVER_CHECK(samples_.without_caption < count, what, ": no sample has a caption ",
                     quoted(options_.caption_column),
                     "; pass the extension of the captions with --caption_column (txt), or a key "
                     "of the .json members");
    if (samples_.lacks_end_mark) {
      log_warning(concat(file_, ": the tar archive has no end mark; it may have been cut off"));
    }
    if (samples_.links > 0) {
      log_warning(
          concat(file_, ": ", samples_.links, " members are links, which are not followed"));
    }
  }

  // "shard.tar/000000000.png"
  void set_name(const TarSample& sample, std::string& name) const {
    thread_local TarMember member;  // keeps its memory
    TarReader reader(archive_->view(), std::string(), sample.header);
    reader.next(member);
    name.assign(file_);
    name += '/';
    name += member.name;
  }

  // The caption in a parsed .json: under the wanted key, else where captions usually are.
  const Json* find_caption(const Json& object) const {
    for (const std::string& key : keys()) {
      const auto found = object.find(key);
      if (found != object.end()) return &*found;
    }
    return nullptr;
  }

  std::vector<std::string> keys() const {
    const std::string& column = options_.caption_column;
    const bool usual = column == "json" || column == "txt" || column == "text";
    if (usual || column == "caption") return {"caption", "text", "txt"};
    return {column};
  }

  void read_json(std::string_view text, int64_t row, uint64_t draw, std::string& caption) const {
    if (text.starts_with("\xef\xbb\xbf")) text.remove_prefix(3);
    const std::string_view wanted = options_.caption_column;
    const bool usual = wanted == "json" || wanted == "txt" || wanted == "text";
    const std::array<std::string_view, 1> key = {usual ? "caption" : wanted};
    std::array<JsonField, 1> field;
    if (find_json_fields(text, key, field)) {
      if (field[0].kind == JsonField::Kind::kString) {
        unescape_json_string(field[0].text, caption);
        return;
      }
      if (field[0].kind == JsonField::Kind::kStrings && field[0].count > 0) {
        unescape_json_string(json_string_at(field[0].text, draw % field[0].count), caption);
        return;
      }
    }
    read_json_slowly(text, row, draw, caption);
  }

  Json parse_member(std::string_view text, int64_t row) const {
    CANTILEVER_CHECK(text.size() <= kCaptionLimit, place(row), ": the .json member has ",
                     text.size(), " bytes, more than ", kCaptionLimit);
    return parse_json(text, concat(place(row), ": the .json member"));
  }

  void read_json_slowly(std::string_view text, int64_t row, uint64_t draw,
                        std::string& caption) const {
    const Json object = parse_member(text, row);
    const Json* value = object.is_object() ? find_caption(object) : nullptr;
    CANTILEVER_CHECK(value != nullptr, place(row), ": the .json member has no ",
                     quoted(keys().front()));
    if (value->is_array()) {
      CANTILEVER_CHECK(!value->empty(), place(row), ": the list of captions is empty");
      value = &(*value)[draw % value->size()];
    }
    CANTILEVER_CHECK(value->is_string(), place(row), ": the caption in the .json member is ",
                     value->type_name(), ", not a text");
    caption = value->get<std::string>();
  }

  std::string file_;
  TableOptions options_;
  std::shared_ptr<const Archive> archive_;
  TarSamples samples_;
};

}  // namespace

std::shared_ptr<ExampleSource> open_tar(const std::filesystem::path& path,
                                        const TableOptions& options) {
  return std::make_shared<TarSource>(path, options);
}

}  // namespace cantilever
