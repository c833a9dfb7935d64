#include "cantilever/data/source/label_source.h"

#include <algorithm>
#include <set>

#include "cantilever/base/error.h"
#include "cantilever/base/rng.h"
#include "cantilever/data/source/picture_files.h"

namespace cantilever {
namespace {

// The last folder of a relative path; "" when it has none.
std::string_view folder_name(std::string_view path) {
  const size_t slash = path.rfind('/');
  if (slash == path.npos) return {};
  const std::string_view parents = path.substr(0, slash);
  return parents.substr(parents.rfind('/') + 1);
}

class LabelSource final : public ExampleSource {
 public:
  LabelSource(const std::filesystem::path& folder, const std::vector<std::string>& pictures,
              const TableOptions& options)
      : folder_(folder), pictures_(PictureRoot{folder, folder}, options.confine) {
    for (const std::string& picture : pictures) {
      begins_.push_back(names_.size());
      names_ += picture;
    }
    begins_.push_back(names_.size());
  }

  int64_t size() const override { return static_cast<int64_t>(begins_.size()) - 1; }

  void read(int64_t row, uint64_t, Example& example) const override {
    read_caption(row, 0, example.caption);
    example.row = row;
    example.image_kind = ImageKind::kImageFeature;
    pictures_.load(name(row), [&] { return place(row); }, example);
  }

  void read_caption(int64_t row, uint64_t, std::string& caption) const override {
    const std::string_view label = folder_name(name(row));
    CANTILEVER_CHECK(!label.empty(), place(row), ": the picture lies in no folder below ",
                     folder_.string(), " whose name could be its label");
    caption.assign(label);
    std::replace(caption.begin(), caption.end(), '_', ' ');
  }

  // The folder, names and their order, not the times of the files: there may be millions.
  uint64_t fingerprint() const override {
    uint64_t sum = begins_.size();
    for (const char byte : folder_.native()) sum = mix_key(sum, static_cast<unsigned char>(byte));
    for (const char byte : names_) sum = mix_key(sum, static_cast<unsigned char>(byte));
    return sum;
  }

  std::string place(int64_t row) const override {
    return concat(folder_.string(), "/", name(row), " (row ", row, ")");
  }

  std::string description() const override {
    return concat(folder_.string(), " (", size(),
                  " pictures, captions are the names of their folders, 'label')");
  }

 private:
  std::string_view name(int64_t row) const {
    CANTILEVER_CHECK(row >= 0 && row < size(), folder_.string(), ": there is no row ", row,
                     ", only ", size());
    const auto at = static_cast<size_t>(row);
    return std::string_view(names_).substr(begins_[at], begins_[at + 1] - begins_[at]);
  }

  std::filesystem::path folder_;
  PictureFiles pictures_;
  std::string names_;  // all of them, one behind the other
  std::vector<uint64_t> begins_;
};

}  // namespace

std::shared_ptr<ExampleSource> open_labels(const std::filesystem::path& folder,
                                           const std::vector<std::string>& pictures,
                                           const TableOptions& options) {
  const std::vector<ColumnInfo> columns = {{"image", "picture", false, true, true},
                                           {"label", "name of the folder", true, false, false}};
  if (options.seen_columns) *options.seen_columns = columns;
  if (options.caption_column != "label") {
    std::string labels;
    const std::vector<std::string> first = picture_labels(pictures, 4);
    for (size_t i = 0; i < first.size() && i < 3; ++i) {
      labels += concat(i == 0 ? " (" : ", ", first[i]);
    }
    if (!labels.empty()) labels += first.size() > 3 ? ", ...)" : ")";
    throw_error(concat(folder.string(), ": there are ", pictures.size(),
                       " pictures, but no captions: no table, no metadata.csv, metadata.jsonl or "
                       "metadata.parquet with a column file_name and the captions (captions in "
                       ".txt files beside the pictures are read from a WebDataset tar: tar cf "
                       "set.tar FOLDER). To take the "
                       "names of the pictures' folders",
                       labels, " for captions, pass --image_column image --caption_column label"));
  }
  TableOptions chosen = options;
  choose_columns(folder.string(), columns, chosen);
  return std::make_shared<LabelSource>(folder, pictures, chosen);
}

std::vector<std::string> picture_labels(const std::vector<std::string>& pictures, size_t most) {
  std::set<std::string> labels;
  for (const std::string& picture : pictures) {
    const std::string_view label = folder_name(picture);
    if (!label.empty() && labels.size() < most) labels.emplace(label);
  }
  return {labels.begin(), labels.end()};
}

}  // namespace cantilever
