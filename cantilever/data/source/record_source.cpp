#include "cantilever/data/source/record_source.h"

#include <algorithm>

#include "cantilever/base/error.h"
#include "cantilever/base/file.h"
#include "cantilever/data/source/table_fingerprint.h"

namespace cantilever {

RecordSource::RecordSource(const std::filesystem::path& file, const TableOptions& options)
    : file_(file.string()),
      options_(options),
      pictures_(std::make_unique<PictureFiles>(picture_root(file, options), options.confine)) {}

void RecordSource::check_row(int64_t row) const {
  CANTILEVER_CHECK(row >= 0 && row < size(), file_, ": there is no row ", row, ", only ", size());
}

void RecordSource::read(int64_t row, uint64_t draw, Example& example) const {
  check_row(row);
  example.row = row;
  Texts texts{.caption = &example.caption, .picture = &example.image_path};
  read_texts(row, draw, texts);
  example.image_kind = texts.kind;
  pictures_->load(example.image_path, [&] { return place(row); }, example);
}

void RecordSource::read_caption(int64_t row, uint64_t draw, std::string& caption) const {
  check_row(row);
  Texts texts{.caption = &caption};
  read_texts(row, draw, texts);
}

void RecordSource::read_picture_path(int64_t row, std::string& path) const {
  check_row(row);
  Texts texts{.picture = &path};
  read_texts(row, 0, texts);
}

int64_t RecordSource::caption_count(int64_t row) const {
  check_row(row);
  return count_captions(row);
}

int64_t RecordSource::count_captions(int64_t) const {
  return 1;
}

void RecordSource::search_picture_folders() {
  constexpr int64_t kSamples = 300;
  std::vector<std::string> names;
  std::string name;
  for (int64_t row = 0; row < size() && row < kSamples; ++row) {
    try {
      read_picture_path(row, name);
    } catch (const Error&) {
      continue;
    }
    if (names.empty() || names.back() != name) names.push_back(name);
  }
  std::vector<PictureRoot> roots = find_picture_folders(file_, options_, names);
  if (!roots.empty()) {
    pictures_ = std::make_unique<PictureFiles>(std::move(roots), options_.confine);
  }
}

uint64_t RecordSource::fingerprint() const {
  return table_fingerprint(file_, options_);
}

ImageKind path_kind(const TableOptions& options) {
  return options.image_folder ? ImageKind::kImageFeature : ImageKind::kPath;
}

int64_t LineNumbers::at(std::string_view text, size_t offset) const {
  constexpr size_t kBlock = size_t{1} << 16;
  const auto count = [&](size_t begin, size_t end) {
    return std::count(text.begin() + static_cast<int64_t>(begin),
                      text.begin() + static_cast<int64_t>(end), '\n');
  };
  std::call_once(counted_, [&] {
    int64_t before = 0;
    before_.reserve(text.size() / kBlock + 1);
    for (size_t begin = 0; begin <= text.size(); begin += kBlock) {
      before_.push_back(before);
      before += count(begin, std::min(begin + kBlock, text.size()));
    }
  });
  offset = std::min(offset, text.size());
  const size_t block = offset / kBlock;
  return 1 + before_[block] + count(block * kBlock, offset);
}

int64_t line_number(std::string_view text, size_t offset) {
  return 1 + std::count(text.begin(), text.begin() + static_cast<int64_t>(offset), '\n');
}

size_t check_text_file(std::string_view text, const std::string& file) {
  CANTILEVER_CHECK(!text.empty(), file, ": the file is empty, there are no rows");
  const std::string pointer =
      describe_lfs_pointer({reinterpret_cast<const std::byte*>(text.data()), text.size()});
  CANTILEVER_CHECK(pointer.empty(), file, ": ", pointer);
  CANTILEVER_CHECK(!text.starts_with("\xff\xfe") && !text.starts_with("\xfe\xff"), file,
                   ": the file is UTF-16; save it as UTF-8");
  CANTILEVER_CHECK(!text.starts_with("\x1f\x8b"), file,
                   ": the file is compressed by gzip; unpack it first");
  return text.starts_with("\xef\xbb\xbf") ? 3 : 0;
}

}  // namespace cantilever
