#include <algorithm>
#include <array>
#include <map>
#include <set>

#include "cantilever/base/error.h"
#include "cantilever/base/file.h"
#include "cantilever/data/source/json_fields.h"
#include "cantilever/data/source/json_records.h"
#include "cantilever/data/source/record_source.h"
#include "cantilever/io/json.h"

namespace cantilever {
namespace {

// So many rows tell which columns there are.
constexpr size_t kRowsForColumns = 1000;
// A row that is parsed takes many times its bytes of memory.
constexpr size_t kMostRowBytes = size_t{32} << 20;

std::string type_name(const Json& value) {
  if (value.is_string()) return "string";
  if (value.is_number_float()) return "float";
  if (value.is_number()) return "int";
  if (value.is_boolean()) return "bool";
  if (value.is_null()) return "null";
  if (value.is_array()) {
    const bool texts =
        std::all_of(value.begin(), value.end(), [](const Json& item) { return item.is_string(); });
    return texts ? "list of strings" : "list";
  }
  return value.contains("bytes") || value.contains("path") ? "struct of bytes and path" : "struct";
}

class JsonSource final : public RecordSource {
 public:
  JsonSource(const std::filesystem::path& path, const TableOptions& options)
      : RecordSource(path, options), mapped_(path) {
    const size_t start = check_text_file(mapped_.text(), file_);
    records_ = find_json_records(mapped_.text(), start, file_);
    CANTILEVER_CHECK(!records_.empty(), file_, ": there are no rows");
    find_columns();
  }

  int64_t size() const override { return static_cast<int64_t>(records_.size()); }

  std::string description() const override {
    return concat(file_, " (", size(), " rows, JSON, pictures in ", quoted(options_.image_column),
                  ", captions in ", quoted(options_.caption_column), ")");
  }

 protected:
  // By the quick way where the row is as most are, else by the library, whose errors say more.
  void read_texts(int64_t row, uint64_t draw, Texts& texts) const override {
    std::array<JsonField, 2> fields;
    const auto usable = [](const JsonField& field, bool list) {
      return field.kind == JsonField::Kind::kString ||
             (list && field.kind == JsonField::Kind::kStrings && field.count > 0);
    };
    texts.kind = path_kind(options_);
    if (!find_fields(row, fields) || (texts.picture != nullptr && !usable(fields[0], false)) ||
        (texts.caption != nullptr && !usable(fields[1], true))) {
      read_slowly(row, draw, texts);
      return;
    }
    if (texts.picture != nullptr) unescape_json_string(fields[0].text, *texts.picture);
    if (texts.caption == nullptr) return;
    std::string_view caption = fields[1].text;
    if (fields[1].kind == JsonField::Kind::kStrings) {
      caption = json_string_at(caption, draw % fields[1].count);
    }
    unescape_json_string(caption, *texts.caption);
  }

  int64_t count_captions(int64_t row) const override {
    std::array<JsonField, 2> fields;
    if (find_fields(row, fields) && fields[1].kind != JsonField::Kind::kOther) {
      return fields[1].kind == JsonField::Kind::kStrings ? static_cast<int64_t>(fields[1].count)
                                                         : 1;
    }
    const Json object = parse(row);
    const auto caption = object.find(caption_key_);
    const bool list = caption != object.end() && caption->is_array();
    return list ? static_cast<int64_t>(caption->size()) : 1;
  }

  std::string place(int64_t row) const override {
    const Span& span = records_[static_cast<size_t>(row)];
    const size_t first = mapped_.text().find_first_not_of(" \t\r\n", span.begin);
    return concat(file_, ", line ", line_numbers_.at(mapped_.text(), first));
  }

 private:
  bool find_fields(int64_t row, std::span<JsonField> fields) const {
    const std::array<std::string_view, 2> keys = {image_key_, caption_key_};
    return find_json_fields(records_[static_cast<size_t>(row)].of(mapped_.text()), keys, fields);
  }

  void read_slowly(int64_t row, uint64_t draw, Texts& texts) const {
    const Json object = parse(row);
    if (texts.caption != nullptr) *texts.caption = caption_of(object, draw, row);
    if (texts.picture == nullptr) return;
    const auto image = object.find(image_key_);
    if (image != object.end() && image->is_object()) {
      *texts.picture = path_of_struct(*image, row);
      texts.kind = ImageKind::kBytes;
    } else {
      *texts.picture = text_of(object, image_key_, options_.image_column, row);
    }
  }

  std::string caption_of(const Json& object, uint64_t draw, int64_t row) const {
    const std::string& column = options_.caption_column;
    const auto found = object.find(caption_key_);
    if (found == object.end() || !found->is_array()) {
      return text_of(object, caption_key_, column, row);
    }
    CANTILEVER_CHECK(!found->empty(), place(row), ": ", quoted(column), " is an empty list");
    const size_t index = draw % found->size();
    const Json& item = (*found)[index];
    CANTILEVER_CHECK(item.is_string(), place(row), ": caption ", index, " in the list ",
                     quoted(column), " is ", item.is_null() ? "null" : "a " + type_name(item),
                     ", not a text");
    return item.get<std::string>();
  }

  Json parse(int64_t row) const {
    const std::string_view text = records_[static_cast<size_t>(row)].of(mapped_.text());
    CANTILEVER_CHECK(text.size() <= kMostRowBytes, place(row), ": the row has ", text.size(),
                     " bytes, more than ", kMostRowBytes,
                     "; rows are the lines of a file, or the elements of an array that is the file "
                     "or its member 'data'");
    Json value;
    try {
      value = parse_json(text, file_);
    } catch (const Error&) {
      parse_json(text, place(row));  // throws the same with the line, which costs a count
      throw;
    }
    CANTILEVER_CHECK(value.is_object(), place(row), ": the row is a JSON ", type_name(value),
                     ", not an object");
    return value;
  }

  std::string text_of(const Json& object, const std::string& key, const std::string& column,
                      int64_t row) const {
    const auto found = object.find(key);
    CANTILEVER_CHECK(found != object.end(), place(row), ": the row has no ", quoted(column));
    CANTILEVER_CHECK(found->is_string(), place(row), ": ", quoted(column), " is ",
                     found->is_null() ? "null" : concat("a ", type_name(*found)), ", not a text");
    return found->get<std::string>();
  }

  // {"bytes": null, "path": "..."}, as `datasets` has a picture.
  std::string path_of_struct(const Json& image, int64_t row) const {
    const auto bytes = image.find("bytes");
    CANTILEVER_CHECK(bytes == image.end() || bytes->is_null(), place(row),
                     ": the picture's 'bytes' are a JSON ", type_name(*bytes),
                     ", which cannot hold bytes; give a path, or use Parquet");
    return text_of(image, "path", "path", row);
  }

  void find_columns() {
    std::map<std::string, std::set<std::string>> types;
    std::vector<std::string> order;
    std::string first_failure;
    const size_t count = std::min(records_.size(), kRowsForColumns);
    for (size_t row = 0; row < count; ++row) {
      try {
        const Json object = parse(static_cast<int64_t>(row));
        for (const auto& [key, value] : object.items()) {
          if (!types.contains(key)) order.push_back(key);
          types[key].insert(type_name(value));
        }
      } catch (const Error& error) {
        if (first_failure.empty()) first_failure = error.what();
      }
    }
    CANTILEVER_CHECK(!order.empty(), "none of the first ", count, " rows of ", file_,
                     " is a JSON object with members",
                     first_failure.empty() ? "" : concat("; the first: ", first_failure));
    std::vector<ColumnInfo> columns;
    for (const std::string& key : order) columns.push_back(describe(key, types[key]));
    const ColumnChoice choice = choose_columns(file_, columns, options_);
    image_key_ = order[choice.image];
    caption_key_ = order[choice.caption];
  }

  // Rows of another type than the column's are errors of those rows.
  ColumnInfo describe(const std::string& key, const std::set<std::string>& types) const {
    ColumnInfo column;
    column.name = presented_name(key, options_.image_folder);
    for (const std::string& type : types) {
      if (type == "null" && types.size() > 1) continue;
      column.type += concat(column.type.empty() ? "" : " or ", type);
    }
    const bool only_null = types.size() == 1 && types.contains("null");
    const bool is_struct = types.contains("struct of bytes and path");
    column.text = types.contains("string") || types.contains("list of strings") || only_null;
    column.picture = types.contains("string") || is_struct || only_null;
    column.looks_picture =
        is_struct || column.name != key || (types.contains("string") && named_like_picture(key));
    return column;
  }

  MappedFile mapped_;
  std::vector<Span> records_;
  std::string image_key_;
  std::string caption_key_;
};

}  // namespace

std::shared_ptr<RecordSource> open_json(const std::filesystem::path& path,
                                        const TableOptions& options) {
  return std::make_shared<JsonSource>(path, options);
}

}  // namespace cantilever
