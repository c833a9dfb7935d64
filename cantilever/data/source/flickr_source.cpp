#include "cantilever/base/error.h"
#include "cantilever/base/file.h"
#include "cantilever/data/source/json_records.h"
#include "cantilever/data/source/record_source.h"

namespace cantilever {
namespace {

// Lines NAME#NUMBER<tab>CAPTION, one a caption.
class FlickrSource final : public RecordSource {
 public:
  FlickrSource(const std::filesystem::path& path, const TableOptions& options)
      : RecordSource(path, options), mapped_(path) {
    if (options.seen_columns) {
      *options.seen_columns = {{"image", "text", false, true, true},
                               {"caption", "text", true, false, false}};
    }
    const std::string_view text = mapped_.text();
    for (size_t at = check_text_file(text, file_); at < text.size();) {
      const size_t end = std::min(text.find('\n', at), text.size());
      const size_t last = end > at && text[end - 1] == '\r' ? end - 1 : end;
      if (last > at) lines_.push_back({at, last});
      at = end + 1;
    }
    CANTILEVER_CHECK(!lines_.empty(), file_, ": there are no rows");
    std::string ignored;
    read_picture_path(0, ignored);  // a file that is something else fails here
    search_picture_folders();
  }

  int64_t size() const override { return static_cast<int64_t>(lines_.size()); }
  bool has_caption_rows() const override { return true; }

  std::string description() const override {
    return concat(file_, " (", size(), " captions, Flickr8k's lines NAME#NUMBER<tab>CAPTION)");
  }

  std::string place(int64_t row) const override {
    return concat(file_, ", line ",
                  line_numbers_.at(mapped_.text(), lines_[static_cast<size_t>(row)].begin));
  }

 protected:
  void read_texts(int64_t row, uint64_t, Texts& texts) const override {
    const std::string_view line = lines_[static_cast<size_t>(row)].of(mapped_.text());
    const size_t tab = line.find('\t');
    const size_t sign = tab == line.npos ? tab : line.substr(0, tab).rfind('#');
    CANTILEVER_CHECK(sign != line.npos, place(row), ": ", quoted(std::string(line)),
                     " is no line NAME#NUMBER<tab>CAPTION as Flickr8k.token has them");
    if (texts.picture != nullptr) texts.picture->assign(line.substr(0, sign));
    if (texts.caption != nullptr) texts.caption->assign(line.substr(tab + 1));
  }

 private:
  MappedFile mapped_;
  std::vector<Span> lines_;
};

}  // namespace

std::shared_ptr<RecordSource> open_flickr(const std::filesystem::path& path,
                                          const TableOptions& options) {
  return std::make_shared<FlickrSource>(path, options);
}

}  // namespace cantilever
