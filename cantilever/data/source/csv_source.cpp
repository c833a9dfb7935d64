#include <algorithm>

#include "cantilever/base/error.h"
#include "cantilever/base/file.h"
#include "cantilever/data/source/json_records.h"
#include "cantilever/data/source/record_source.h"

namespace cantilever {
namespace {

// The offset behind the record that starts at `at`, with its line end; the fields go to `fields`
// when it is not null. As pandas reads: a quote opens only at the start of a field, "" inside is
// one quote, a record ends at \n, \r\n or \r outside quotes. `closed`: false when a quote never
// closes.
size_t scan_record(std::string_view text, size_t at, char delimiter, bool* closed,
                   std::vector<std::string>* fields) {
  enum class State { kStart, kPlain, kQuoted };
  State state = State::kStart;
  std::string field;
  const auto end_field = [&] {
    if (fields != nullptr) fields->push_back(std::move(field));
    field.clear();
    state = State::kStart;
  };
  const auto take = [&](char byte) {
    if (fields != nullptr) field += byte;
  };
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
      end_field();
    } else if (byte == '\n' || byte == '\r') {
      end_field();
      return byte == '\r' && i + 1 < text.size() && text[i + 1] == '\n' ? i + 2 : i + 1;
    } else if (byte == '"' && state == State::kStart) {
      state = State::kQuoted;
    } else {
      take(byte);
      state = State::kPlain;
    }
  }
  *closed = state != State::kQuoted;
  end_field();
  return text.size();
}

bool is_blank_line(std::string_view record) {
  return record.find_first_not_of("\r\n") == std::string_view::npos;
}

class CsvSource final : public RecordSource {
 public:
  CsvSource(const std::filesystem::path& path, const TableOptions& options, char delimiter)
      : RecordSource(path, options), mapped_(path), delimiter_(delimiter) {
    const std::string_view text = mapped_.text();
    size_t at = check_text_file(text, file_);
    while (at < text.size()) {
      bool closed = true;
      const size_t end = scan_record(text, at, delimiter_, &closed, nullptr);
      CANTILEVER_CHECK(closed, file_, ", line ", line_number(text, at),
                       ": a quote that opens in the record starting here is never closed");
      if (!is_blank_line(text.substr(at, end - at))) records_.push_back({at, end});
      at = end;
    }
    CANTILEVER_CHECK(!records_.empty(), file_, ": there is no header line");
    read_header();
    CANTILEVER_CHECK(!records_.empty(), file_, ": there are no rows, only the header");
  }

  int64_t size() const override { return static_cast<int64_t>(records_.size()); }

  std::string description() const override {
    return concat(file_, " (", size(), " rows, ", delimiter_ == '\t' ? "TSV" : "CSV",
                  ", pictures in ", quoted(options_.image_column), ", captions in ",
                  quoted(options_.caption_column), ")");
  }

 protected:
  Record read_record(int64_t row) const override {
    std::vector<std::string> fields = split(row);
    Record record;
    record.caption = fields[choice_.caption];
    record.image_path = std::move(fields[choice_.image]);
    record.image_kind = path_kind(options_);
    return record;
  }

  std::string record_caption(int64_t row) const override { return split(row)[choice_.caption]; }

  std::string place(int64_t row) const override {
    return concat(file_, ", line ",
                  line_number(mapped_.text(), records_[static_cast<size_t>(row)].begin));
  }

 private:
  void read_header() {
    bool closed = true;
    std::vector<std::string> names;
    scan_record(mapped_.text(), records_.front().begin, delimiter_, &closed, &names);
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
    column_count_ = columns.size();
  }

  std::vector<std::string> split(int64_t row) const {
    const std::string_view text = records_[static_cast<size_t>(row)].of(mapped_.text());
    bool closed = true;
    std::vector<std::string> fields;
    scan_record(text, 0, delimiter_, &closed, &fields);
    CANTILEVER_CHECK(fields.size() == column_count_, place(row), ": the row has ", fields.size(),
                     " fields, the header ", column_count_, "; a field that contains a ",
                     delimiter_ == '\t' ? "tab" : "comma", " must stand in double quotes");
    return fields;
  }

  MappedFile mapped_;
  char delimiter_;
  std::vector<Span> records_;
  ColumnChoice choice_;
  size_t column_count_ = 0;
};

}  // namespace

std::shared_ptr<ExampleSource> open_csv(const std::filesystem::path& path,
                                        const TableOptions& options, char delimiter) {
  return std::make_shared<CsvSource>(path, options, delimiter);
}

}  // namespace cantilever
