#include "cantilever/io/json.h"

#include <limits>
#include <unordered_map>
#include <utility>
#include <vector>

#include "cantilever/base/error.h"
#include "cantilever/base/file.h"
#include "cantilever/io/text_bytes.h"

namespace cantilever {
namespace {

constexpr size_t kMaxDepth = 512;

// Python writes NaN, Infinity and -Infinity, which nlohmann's lexer does not know. They are handed
// to it as numbers of a spelling that no writer has, and recognised by that spelling afterwards.
const std::string kMarker = "0e-" + std::string(64, '0');
const std::string kNaN = kMarker + "1";
const std::string kInfinity = kMarker + "2";

bool ends_token(std::string_view text, size_t at) {
  return at >= text.size() || std::string_view(" \t\r\n,]}").find(text[at]) != text.npos;
}

bool begins_token(std::string_view text, size_t at) {
  if (at > 0 && text[at - 1] == '-') --at;
  return at == 0 || std::string_view(" \t\r\n,[:").find(text[at - 1]) != text.npos;
}

std::string mark_nonfinite(std::string_view text) {
  std::string out;
  out.reserve(text.size() + 1024);
  bool in_string = false;
  for (size_t i = 0; i < text.size(); ++i) {
    const std::string_view rest = text.substr(i);
    if (text[i] == '"') in_string = !in_string;
    if (in_string && text[i] == '\\' && rest.size() > 1) {
      out += rest.substr(0, 2);
      ++i;
      continue;
    }
    size_t taken = 0;
    if (!in_string && begins_token(text, i)) {
      if (rest.starts_with("NaN") && ends_token(text, i + 3) && (i == 0 || text[i - 1] != '-')) {
        out += kNaN;
        taken = 3;
      } else if (rest.starts_with("Infinity") && ends_token(text, i + 8)) {
        out += kInfinity;
        taken = 8;
      }
    }
    if (taken == 0) {
      out += text[i];
    } else {
      i += taken - 1;
    }
  }
  return out;
}

// nlohmann's own tree builder inserts into an ordered object by walking it: 50,000 keys (a
// vocabulary) take seconds, a hostile million hours. This one collects the members of an open
// object and finds equal keys by hash when it closes.
class TreeBuilder : public nlohmann::json_sax<Json> {
 public:
  explicit TreeBuilder(DuplicateKeys duplicates) : duplicates_(duplicates) {}

  bool null() override { return add(Json(nullptr)); }
  bool boolean(bool value) override { return add(Json(value)); }
  bool number_integer(number_integer_t value) override { return add(Json(value)); }
  bool number_unsigned(number_unsigned_t value) override { return add(Json(value)); }
  bool number_float(number_float_t value, const string_t& spelling) override {
    using Limits = std::numeric_limits<double>;
    if (spelling == kNaN) return add(Json(Limits::quiet_NaN()));
    if (spelling == kInfinity) return add(Json(Limits::infinity()));
    if (spelling == "-" + kInfinity) return add(Json(-Limits::infinity()));
    return add(Json(value));
  }
  bool string(string_t& value) override { return add(Json(std::move(value))); }
  bool binary(binary_t&) override { return false; }
  bool key(string_t& value) override {
    open_.back().keys.push_back(std::move(value));
    return true;
  }
  bool start_object(size_t) override { return start(); }
  bool start_array(size_t) override { return start(); }
  bool end_array() override {
    std::vector<Json> values = std::move(open_.back().values);
    open_.pop_back();
    return add(Json(Json::array_t(std::move(values))));
  }
  bool end_object() override {
    Frame frame = std::move(open_.back());
    open_.pop_back();
    Json object = Json::object();
    return close_object(frame, object.get_ref<Json::object_t&>()) && add(std::move(object));
  }
  bool parse_error(size_t, const std::string&, const nlohmann::detail::exception& error) override {
    // Without the library's own "[json.exception.parse_error.101] ".
    const std::string_view text = error.what();
    const size_t bracket = text.find("] ");
    return fail(replace_invalid_utf8(text.substr(bracket == text.npos ? 0 : bracket + 2, 300)));
  }

  Json take_root() { return std::move(root_); }
  const std::string& error() const { return error_; }

 private:
  struct Frame {
    std::vector<std::string> keys;  // of an object
    std::vector<Json> values;
  };

  bool fail(std::string message) {
    error_ = std::move(message);
    return false;
  }

  bool start() {
    if (open_.size() >= kMaxDepth) return fail(concat("nesting beyond ", kMaxDepth, " levels"));
    open_.emplace_back();
    return true;
  }

  bool add(Json&& value) {
    if (open_.empty()) {
      root_ = std::move(value);
    } else {
      open_.back().values.push_back(std::move(value));
    }
    return true;
  }

  // As Python's dict: a repeated key keeps its first place and gets the last value.
  bool close_object(Frame& frame, Json::object_t& object) {
    std::unordered_map<std::string_view, size_t> places;
    places.reserve(frame.keys.size());
    object.reserve(frame.keys.size());
    for (size_t i = 0; i < frame.keys.size(); ++i) {
      const auto [found, fresh] = places.try_emplace(frame.keys[i], object.size());
      if (fresh) {
        object.emplace_back(frame.keys[i], std::move(frame.values[i]));
      } else if (duplicates_ == DuplicateKeys::kRefuse) {
        return fail(concat("the key ", quoted(std::as_const(frame.keys[i])),
                           " stands twice in one object"));
      } else {
        (object.begin() + static_cast<std::ptrdiff_t>(found->second))->second =
            std::move(frame.values[i]);
      }
    }
    return true;
  }

  DuplicateKeys duplicates_;
  std::vector<Frame> open_;
  Json root_;
  std::string error_;
};

}  // namespace

Json parse_json(std::string_view text, const std::string& where, DuplicateKeys duplicates) {
  // The library takes a NUL for the end of the text.
  const size_t nul = text.find('\0');
  CANTILEVER_CHECK(nul == text.npos, where, ": not valid JSON: a NUL byte at byte ", nul);
  std::string marked;
  if (text.find("NaN") != text.npos || text.find("Infinity") != text.npos) {
    CANTILEVER_CHECK(text.find(kMarker) == text.npos, where,
                     ": not valid JSON: a number with 64 zeros in its exponent");
    marked = mark_nonfinite(text);
    text = marked;
  }
  TreeBuilder builder(duplicates);
  const bool good = Json::sax_parse(text.begin(), text.end(), &builder);
  CANTILEVER_CHECK(good, where, ": not valid JSON: ", builder.error());
  return builder.take_root();
}

Json read_json(const std::filesystem::path& path) {
  const std::string text = read_file(path);
  const std::string pointer = describe_lfs_pointer(std::as_bytes(std::span(text)));
  CANTILEVER_CHECK(pointer.empty(), path.string(), ": ", pointer);
  return parse_json(text, path.string());
}

void write_json(const std::filesystem::path& path, const Json& value, int indent, bool sort_keys,
                bool final_newline) {
  std::string text = dump_json(value, indent, sort_keys);
  if (final_newline) text += '\n';
  write_file_atomically(path, text);
}

}  // namespace cantilever
