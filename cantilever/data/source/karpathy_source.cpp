#include "cantilever/data/source/karpathy_source.h"

#include <algorithm>
#include <array>
#include <fstream>

#include "cantilever/base/error.h"
#include "cantilever/base/file.h"
#include "cantilever/base/rng.h"
#include "cantilever/data/source/json_fields.h"
#include "cantilever/data/source/json_records.h"

namespace cantilever {
namespace {

namespace fs = std::filesystem;
using Kind = JsonField::Kind;

enum ImageField : size_t { kFilename, kFilepath, kSplit, kSentences };
constexpr std::array<std::string_view, 4> kImageKeys = {"filename", "filepath", "split",
                                                        "sentences"};
using ImageFields = std::array<JsonField, kImageKeys.size()>;

std::string text_of(const JsonField& field) {
  std::string text;
  if (field.kind == Kind::kString) unescape_json_string(field.text, text);
  return text;
}

// The elements of the array "images" of a file.
std::vector<Span> find_images(std::string_view text, const std::string& file) {
  const size_t start = check_text_file(text, file);
  const auto images = find_json_array(text, start, "images", file);
  CANTILEVER_CHECK(images.has_value(), file, ": the JSON object has no list 'images'");
  return *images;
}

ImageFields read_image(std::string_view text, const Span& image, const std::string& file) {
  ImageFields fields;
  CANTILEVER_CHECK(find_json_fields(image.of(text), kImageKeys, fields), file,
                   ": the image at byte ", image.begin, " is no JSON object, or damaged");
  return fields;
}

// "train", "validation" or "test".
std::string split_of(const ImageFields& fields, const Span& image, const std::string& file) {
  const std::string name = text_of(fields[kSplit]);
  if (name == "train" || name == "restval") return "train";
  if (name == "val") return "validation";
  CANTILEVER_CHECK(name == "test", file, ": the image at byte ", image.begin, " is of split ",
                   quoted(name, 40), "; train, restval, val and test are known");
  return name;
}

class KarpathySource final : public RecordSource {
 public:
  KarpathySource(const fs::path& path, const TableOptions& options, const std::string& split)
      : RecordSource(path, options), mapped_(path), split_(split) {
    if (options.seen_columns) {
      *options.seen_columns = {{"images.filename", "string", false, true, true},
                               {"sentences.raw", "string", true, false, false}};
    }
    for (const Span& image : find_images(mapped_.text(), file_)) add(image);
    CANTILEVER_CHECK(!captions_.empty(), file_, ": there are no rows",
                     split.empty() ? "" : concat(" of split ", split));
    search_picture_folders();
  }

  int64_t size() const override { return static_cast<int64_t>(captions_.size()); }
  bool has_caption_rows() const override { return true; }

  uint64_t fingerprint() const override {
    uint64_t sum = RecordSource::fingerprint();
    for (const char byte : split_) sum = mix_key(sum, static_cast<unsigned char>(byte));
    return sum;
  }

  std::string description() const override {
    return concat(file_, " (", size(), " captions of ", pictures_.size(), " pictures",
                  split_.empty() ? " of all splits" : "", ", Karpathy's JSON)");
  }

  std::string place(int64_t row) const override {
    return concat(file_, ", sentence at byte ", captions_[static_cast<size_t>(row)]);
  }

 protected:
  void read_texts(int64_t row, uint64_t, Texts& texts) const override {
    const auto at = static_cast<size_t>(row);
    if (texts.caption != nullptr) read_caption_text(row, *texts.caption);
    if (texts.picture != nullptr) read_picture(row, pictures_[picture_of_[at]], *texts.picture);
  }

 private:
  void add(const Span& image) {
    const ImageFields fields = read_image(mapped_.text(), image, file_);
    if (!split_.empty() && split_of(fields, image, file_) != split_) return;
    const std::string_view list = fields[kSentences].text;
    CANTILEVER_CHECK(list.starts_with('['), file_, ": the image at byte ", image.begin,
                     " has no list 'sentences'");
    const auto first = static_cast<size_t>(list.data() - mapped_.text().data());
    const auto sentences = find_json_elements(mapped_.text(), first, file_);
    if (sentences.empty()) return;
    CANTILEVER_CHECK(pictures_.size() < UINT32_MAX, file_, ": too many pictures");
    for (const Span& sentence : sentences) {
      captions_.push_back(sentence.begin);
      picture_of_.push_back(static_cast<uint32_t>(pictures_.size()));
    }
    pictures_.push_back(image);
  }

  void read_caption_text(int64_t row, std::string& out) const {
    const size_t begin = captions_[static_cast<size_t>(row)];
    const std::string_view text = mapped_.text().substr(begin);
    const std::array<std::string_view, 1> key = {"raw"};
    std::array<JsonField, 1> field;
    CANTILEVER_CHECK(find_json_fields(text.substr(0, end_of_json_value(text)), key, field) &&
                         field[0].kind == Kind::kString,
                     place(row), ": the sentence has no text 'raw'");
    unescape_json_string(field[0].text, out);
  }

  // "val2014/x.jpg"; Flickr's have no folder.
  void read_picture(int64_t row, const Span& image, std::string& out) const {
    ImageFields fields = read_image(mapped_.text(), image, file_);
    CANTILEVER_CHECK(fields[kFilename].kind == Kind::kString, place(row),
                     ": its image has no text 'filename'");
    unescape_json_string(fields[kFilename].text, out);
    if (fields[kFilepath].kind != Kind::kString || fields[kFilepath].text.size() <= 2) return;
    thread_local std::string folder;  // keeps its memory
    unescape_json_string(fields[kFilepath].text, folder);
    folder += '/';
    out.insert(0, folder);
  }

  MappedFile mapped_;
  std::string split_;
  std::vector<Span> pictures_;
  std::vector<uint64_t> captions_;    // where the sentences stand
  std::vector<uint32_t> picture_of_;  // number of each caption's picture
};

}  // namespace

bool is_karpathy_file(const fs::path& path) {
  std::error_code ignored;
  if (!fs::is_regular_file(path, ignored)) return false;
  std::string head(4096, '\0');
  std::ifstream stream(path);
  stream.read(head.data(), static_cast<std::streamsize>(head.size()));
  head.resize(static_cast<size_t>(stream.gcount()));
  const size_t first = head.find_first_not_of(" \t\r\n\xef\xbb\xbf");
  return first != head.npos && head[first] == '{' && head.find("\"images\"") != head.npos &&
         head.find("\"sentids\"") != head.npos;
}

std::vector<std::string> karpathy_splits(const fs::path& path) {
  const MappedFile mapped(path);
  std::array<std::pair<std::string, bool>, 3> known = {
      {{"train", false}, {"validation", false}, {"test", false}}};
  for (const Span& image : find_images(mapped.text(), path.string())) {
    const ImageFields fields = read_image(mapped.text(), image, path.string());
    const std::string split = split_of(fields, image, path.string());
    for (auto& [name, there] : known) there = there || name == split;
  }
  std::vector<std::string> splits;
  for (const auto& [name, there] : known) {
    if (there) splits.push_back(name);
  }
  return splits;
}

std::shared_ptr<RecordSource> open_karpathy(const fs::path& path, const TableOptions& options,
                                            const std::string& split) {
  return std::make_shared<KarpathySource>(path, options, split);
}

}  // namespace cantilever
