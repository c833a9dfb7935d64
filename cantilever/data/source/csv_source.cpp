#include <algorithm>

#include "cantilever/base/error.h"
#include "cantilever/base/file.h"
#include "cantilever/data/source/json_records.h"
#include "cantilever/data/source/record_source.h"

namespace cantilever {
namespace {

// The offset behind the record that starts at `at`, with its line end. Calls take(byte) for every
// byte of a field's value and end() at the end of every field. As pandas reads: a quote opens only
// at the start of a field, "" inside is one quote, a record ends at \n, \r\n or \r outside quotes.
// `closed`: false when a quote never closes.
template <class Take, class End>
size_t scan_record(std::string_view text, size_t at, char delimiter, bool* closed, const Take& take,
                   const End& end) {
  enum class State { kStart, kPlain, kQuoted };
  State state = State::kStart;
  *closed = true;
  for (size_t i = at; i < text.size(); ++i) {
    const char byte = text[i];
    if (state == State::kQuoted) {
      if (byte != '"') {
        take(byte);
      } else if (i + 1 < text.size() && text[i + 1] == '"') {
        take('"');
        ++i;
      } else {
        state = State::kPlain;
      }
    } else if (byte == delimiter) {
      end();
      state = State::kStart;
    } else if (byte == '\n' || byte == '\r') {
      end();
      return byte == '\r' && i + 1 < text.size() && text[i + 1] == '\n' ? i + 2 : i + 1;
    } else if (byte == '"' && state == State::kStart) {
      state = State::kQuoted;
    } else {
      take(byte);
      state = State::kPlain;
    }
  }
  *closed = state != State::kQuoted;
  end();
  return text.size();
}

size_t skip_record(std::string_view text, size_t at, char delimiter, bool* closed) {
  return scan_record(text, at, delimiter, closed, [](char) {}, [] {});
}

const char* delimiter_name(char delimiter) {
  return delimiter == '\t' ? "tab" : delimiter == '|' ? "|" : "comma";
}

// Tables with bars have a blank behind each ("name| number| text").
void trim_blanks(std::string& field) {
  const size_t first = std::min(field.find_first_not_of(' '), field.size());
  field.erase(0, first);
  field.erase(field.find_last_not_of(' ') + 1);
}

bool is_blank_line(std::string_view record) {
  return record.find_first_not_of("\r\n") == std::string_view::npos;
}

// Each costs far more memory than its byte in the file.
constexpr size_t kMostColumns = 10000;

class CsvSource final : public RecordSource {
 public:
  CsvSource(const std::filesystem::path& path, const TableOptions& options, char delimiter)
      : RecordSource(path, options), mapped_(path), delimiter_(delimiter) {
    const std::string_view text = mapped_.text();
    size_t at = check_text_file(text, file_);
    while (at < text.size()) {
      bool closed = true;
      const size_t end = skip_record(text, at, delimiter_, &closed);
      CANTILEVER_CHECK(closed, file_, ", line ", line_number(text, at),
                       ": a quote that opens in the record starting here is never closed");
      if (!is_blank_line(text.substr(at, end - at))) records_.push_back({at, end});
      at = end;
    }
    CANTILEVER_CHECK(!records_.empty(), file_, ": there is no header line");
    read_header();
    CANTILEVER_CHECK(!records_.empty(), file_, ": there are no rows, only the header");
    if (caption_rows_) search_picture_folders();
  }

  int64_t size() const override { return static_cast<int64_t>(records_.size()); }

  bool has_caption_rows() const override { return caption_rows_; }

  std::string description() const override {
    return concat(file_, " (", size(), " rows, ",
                  delimiter_ == '\t'  ? "TSV"
                  : delimiter_ == '|' ? "CSV with bars"
                                      : "CSV",
                  ", pictures in ", quoted(options_.image_column), ", captions in ",
                  quoted(options_.caption_column), ")");
  }

 protected:
  void read_texts(int64_t row, uint64_t, Texts& texts) const override {
    const std::string_view text = records_[static_cast<size_t>(row)].of(mapped_.text());
    texts.kind = path_kind(options_);
    if (texts.caption != nullptr) texts.caption->clear();
    if (texts.picture != nullptr) texts.picture->clear();
    size_t field = 0;
    bool closed = true;
    scan_record(
        text, 0, delimiter_, &closed,
        [&](char byte) {
          if (field == choice_.caption && texts.caption != nullptr) *texts.caption += byte;
          if (field == choice_.image && texts.picture != nullptr) *texts.picture += byte;
        },
        [&] { ++field; });
    CANTILEVER_CHECK(field == column_count_, place(row), ": the row has ", field,
                     " fields, the header ", column_count_, "; a field that contains a ",
                     delimiter_name(delimiter_), " must stand in double quotes");
    if (delimiter_ == '|') {
      if (texts.caption != nullptr) trim_blanks(*texts.caption);
      if (texts.picture != nullptr) trim_blanks(*texts.picture);
    }
  }

  std::string place(int64_t row) const override {
    return concat(file_, ", line ",
                  line_numbers_.at(mapped_.text(), records_[static_cast<size_t>(row)].begin));
  }

 private:
  void read_header() {
    bool closed = true;
    std::vector<std::string> names(1);
    scan_record(
        records_.front().of(mapped_.text()), 0, delimiter_, &closed,
        [&](char byte) { names.back() += byte; },
        [&] {
          CANTILEVER_CHECK(names.size() <= kMostColumns, file_, ": the header has more than ",
                           kMostColumns, " fields; this is no table");
          names.emplace_back();
        });
    names.pop_back();
    if (delimiter_ == '|') std::for_each(names.begin(), names.end(), trim_blanks);
    records_.erase(records_.begin());
    std::vector<ColumnInfo> columns;
    for (const std::string& stored : names) {
      ColumnInfo column;
      column.name = presented_name(stored, options_.image_folder);
      column.type = "text";
      column.text = column.picture = true;
      column.looks_picture = column.name != stored || named_like_picture(stored);
      columns.push_back(column);
    }
    choice_ = choose_columns(file_, columns, options_);
    // Kaggle's editions of Flickr8k (captions.txt) and Flickr30k (results.csv).
    const bool flickr8k = names == std::vector<std::string>{"image", "caption"} &&
                          std::filesystem::path(file_).extension() == ".txt";
    caption_rows_ = flickr8k || delimiter_ == '|';
    column_count_ = columns.size();
  }

  MappedFile mapped_;
  char delimiter_;
  std::vector<Span> records_;
  ColumnChoice choice_;
  size_t column_count_ = 0;
  bool caption_rows_ = false;
};

}  // namespace

std::shared_ptr<RecordSource> open_csv(const std::filesystem::path& path,
                                       const TableOptions& options, char delimiter) {
  return std::make_shared<CsvSource>(path, options, delimiter);
}

}  // namespace cantilever
