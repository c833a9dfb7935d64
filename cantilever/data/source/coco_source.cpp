#include <array>
#include <unordered_map>

#include "cantilever/base/error.h"
#include "cantilever/base/file.h"
#include "cantilever/base/log.h"
#include "cantilever/data/source/json_fields.h"
#include "cantilever/data/source/json_records.h"
#include "cantilever/data/source/record_source.h"
#include "cantilever/io/json.h"

namespace cantilever {
namespace {

// What is kept of a COCO captions file: where texts stand in the mapped file, 12 bytes a caption
// and 8 a picture. Elements that are not plain are kept by their own place and parsed when read.
class CocoSource final : public RecordSource {
 public:
  CocoSource(const std::filesystem::path& path, const TableOptions& options, MappedFile mapped,
             const CocoArrays& arrays)
      : RecordSource(path, options), mapped_(std::move(mapped)) {
    if (options.seen_columns) {
      *options.seen_columns = {{"images.file_name", "string", false, true, true},
                               {"annotations.caption", "string", true, false, false}};
    }
    index(arrays);
    search_picture_folders();
  }

  int64_t size() const override { return static_cast<int64_t>(captions_.size()); }
  bool has_caption_rows() const override { return true; }

  std::string description() const override {
    return concat(file_, " (", size(), " captions of ", pictures_.size(),
                  " pictures, COCO, pictures in 'images.file_name', captions in "
                  "'annotations.caption')");
  }

  std::string place(int64_t row) const override {
    const size_t at = captions_[static_cast<size_t>(row)];
    return concat(file_, ", annotation at byte ", at);
  }

 protected:
  void read_texts(int64_t row, uint64_t, Texts& texts) const override {
    const auto at = static_cast<size_t>(row);
    if (texts.caption != nullptr) read_text(captions_[at], "caption", row, *texts.caption);
    if (texts.picture != nullptr) {
      read_text(pictures_[picture_of_[at]], "file_name", row, *texts.picture);
    }
  }

 private:
  // The value of a member, as the text stands in the file; by the library where it is not plain.
  struct Pair {
    JsonField id;
    size_t text = 0;   // where the text stands, or the element with it
    std::string kept;  // the id of an element that is not plain
    std::string_view id_text() const { return kept.empty() ? id.text : std::string_view(kept); }
  };

  Pair read_pair(const Span& span, std::string_view id, std::string_view text) const {
    const std::array<std::string_view, 2> keys = {id, text};
    std::array<JsonField, 2> fields;
    const std::string_view element = span.of(mapped_.text());
    Pair pair;
    if (find_json_fields(element, keys, fields)) {
      pair.id = fields[0];
      const bool plain = fields[1].kind == JsonField::Kind::kString;
      pair.text =
          plain ? static_cast<size_t>(fields[1].text.data() - mapped_.text().data()) : span.begin;
      return pair;
    }
    const Json object = parse_json(element, concat(file_, ", byte ", span.begin));
    pair.text = span.begin;
    if (object.is_object() && object.contains(std::string(id))) {
      pair.kept = dump_json(object[std::string(id)], -1);
    }
    return pair;
  }

  void index(const CocoArrays& arrays) {
    std::unordered_map<std::string, uint32_t> numbers;
    numbers.reserve(arrays.images.size());
    pictures_.reserve(arrays.images.size());
    for (const Span& span : arrays.images) {
      const Pair image = read_pair(span, "id", "file_name");
      if (image.id_text().empty()) continue;  // nothing can refer to it
      numbers[std::string(image.id_text())] = static_cast<uint32_t>(pictures_.size());
      pictures_.push_back(image.text);
    }
    CANTILEVER_CHECK(pictures_.size() < UINT32_MAX, file_, ": too many pictures");
    std::vector<bool> used(pictures_.size());
    int64_t with_caption = 0;
    int64_t dangling = 0;
    std::string first_dangling;
    std::string id;
    captions_.reserve(arrays.annotations.size());
    picture_of_.reserve(arrays.annotations.size());
    for (const Span& span : arrays.annotations) {
      const Pair annotation = read_pair(span, "image_id", "caption");
      id = annotation.id_text();
      const auto found = numbers.find(id);
      if (found == numbers.end()) {
        if (dangling++ < 3) {
          first_dangling += concat(first_dangling.empty() ? "" : ", ", id.empty() ? "none" : id);
        }
        continue;
      }
      with_caption += mapped_.text()[annotation.text] == '"' ? 1 : 0;
      used[found->second] = true;
      captions_.push_back(annotation.text);
      picture_of_.push_back(found->second);
    }
    report(arrays, with_caption, dangling, first_dangling, used);
  }

  void report(const CocoArrays& arrays, int64_t with_caption, int64_t dangling,
              const std::string& first_dangling, const std::vector<bool>& used) const {
    CANTILEVER_CHECK(!arrays.annotations.empty(), file_, ": there are no rows: the COCO file has ",
                     arrays.images.size(), " images, but no annotations");
    CANTILEVER_CHECK(!captions_.empty(), file_, ": there are no rows: none of the ",
                     arrays.annotations.size(),
                     " annotations of the COCO file belongs to one of "
                     "its ",
                     arrays.images.size(), " images");
    if (with_caption == 0) {
      std::string caption;
      read_text(captions_.front(), "caption", 0, caption);  // says what stands there instead
    }
    if (dangling > 0) {
      log_warning(concat(file_, ": ", dangling, " of ", arrays.annotations.size(),
                         " annotations belong to no image of the file and are left out (image_id ",
                         first_dangling, dangling > 3 ? ", ..." : "", ")"));
    }
    const auto without =
        static_cast<int64_t>(arrays.images.size()) - std::count(used.begin(), used.end(), true);
    if (without > 0) {
      log_info(concat(file_, ": ", without, " of ", arrays.images.size(),
                      " images have no caption and are left out"));
    }
  }

  void read_text(size_t at, const char* key, int64_t row, std::string& out) const {
    const std::string_view text = mapped_.text().substr(at);
    if (text.front() == '"') {
      unescape_json_string(text.substr(0, skip_json_string(text, 0)), out);
      return;
    }
    const Span span{at, at + end_of_json_value(text)};
    const Json object = parse_json(span.of(mapped_.text()), place(row));
    CANTILEVER_CHECK(object.is_object() && object.contains(key), place(row), ": the row has no ",
                     quoted(std::string(key)),
                     " (a COCO file of captions is wanted, captions_train2017.json)");
    CANTILEVER_CHECK(object[key].is_string(), place(row), ": ", quoted(std::string(key)), " is ",
                     object[key].type_name(), ", not a text");
    out = object[key].get<std::string>();
  }

  MappedFile mapped_;
  std::vector<uint64_t> pictures_;    // where the file names stand
  std::vector<uint64_t> captions_;    // where the captions stand
  std::vector<uint32_t> picture_of_;  // number of each caption's picture
};

}  // namespace

std::shared_ptr<RecordSource> open_coco(const std::filesystem::path& path,
                                        const TableOptions& options) {
  MappedFile mapped(path);
  const size_t start = check_text_file(mapped.text(), path.string());
  const std::optional<CocoArrays> arrays = find_coco_arrays(mapped.text(), start, path.string());
  if (!arrays) return nullptr;
  return std::make_shared<CocoSource>(path, options, std::move(mapped), *arrays);
}

}  // namespace cantilever
