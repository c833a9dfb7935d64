#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <string_view>
#include <vector>

#include "cantilever/base/error.h"
#include "cantilever/io/json.h"
#include "cantilever/io/text_bytes.h"

namespace cantilever {
namespace {

// Python's repr of a float: the shortest digits that read back as the same double, fixed notation
// for decimal exponents from -4 to 15, otherwise d.ddde+XX with at least two exponent digits.
void append_float(std::string& out, double value) {
  if (std::isnan(value)) {
    out += "NaN";
    return;
  }
  if (std::isinf(value)) {
    out += value < 0 ? "-Infinity" : "Infinity";
    return;
  }
  char buffer[64];
  const auto end =
      std::to_chars(buffer, buffer + sizeof buffer, value, std::chars_format::scientific).ptr;
  std::string_view text(buffer, static_cast<size_t>(end - buffer));
  if (text.front() == '-') {
    out += '-';
    text.remove_prefix(1);
  }
  const size_t mark = text.find('e');
  const int exponent = std::atoi(std::string(text.substr(mark + 1)).c_str());
  if (exponent < -4 || exponent >= 16) {
    out += text;  // to_chars writes at least two exponent digits, as Python does
    return;
  }
  std::string digits(1, text[0]);
  if (mark > 1) digits += text.substr(2, mark - 2);
  if (exponent < 0) {
    out += "0." + std::string(static_cast<size_t>(-exponent - 1), '0') + digits;
    return;
  }
  const auto whole = static_cast<size_t>(exponent) + 1;
  if (digits.size() < whole) digits.append(whole - digits.size(), '0');
  out += digits.substr(0, whole);
  out += '.';
  out += digits.size() > whole ? digits.substr(whole) : "0";
}

class Writer {
 public:
  Writer(int indent, bool sort_keys, bool ensure_ascii)
      : indent_(indent), sort_keys_(sort_keys), ensure_ascii_(ensure_ascii) {}

  void write(const Json& value) {
    switch (value.type()) {
      case Json::value_t::null:
        out_ += "null";
        return;
      case Json::value_t::boolean:
        out_ += value.get<bool>() ? "true" : "false";
        return;
      case Json::value_t::number_integer:
        out_ += std::to_string(value.get<int64_t>());
        return;
      case Json::value_t::number_unsigned:
        out_ += std::to_string(value.get<uint64_t>());
        return;
      case Json::value_t::number_float:
        return append_float(out_, value.get<double>());
      case Json::value_t::string:
        return append_json_string(out_, value.get_ref<const std::string&>(), ensure_ascii_);
      case Json::value_t::array:
        return write_array(value);
      case Json::value_t::object:
        return write_object(value.get_ref<const Json::object_t&>());
      default:
        CANTILEVER_ASSERT(false, "a JSON value of kind ", value.type_name());
    }
  }

  std::string take() { return std::move(out_); }

 private:
  void write_array(const Json& array) {
    if (array.empty()) {
      out_ += "[]";
      return;
    }
    open('[');
    bool first = true;
    for (const Json& item : array) {
      separate(first);
      write(item);
    }
    close(']');
  }

  void write_object(const Json::object_t& object) {
    if (object.empty()) {
      out_ += "{}";
      return;
    }
    std::vector<const Json::object_t::value_type*> members;
    members.reserve(object.size());
    for (const auto& member : object) members.push_back(&member);
    if (sort_keys_) {
      // Byte order of UTF-8 is code point order, which is Python's.
      std::sort(members.begin(), members.end(),
                [](const auto* a, const auto* b) { return a->first < b->first; });
    }
    open('{');
    bool first = true;
    for (const auto* member : members) {
      separate(first);
      append_json_string(out_, member->first, ensure_ascii_);
      out_ += ": ";
      write(member->second);
    }
    close('}');
  }

  void open(char bracket) {
    out_ += bracket;
    ++depth_;
  }

  void separate(bool& first) {
    if (!first) out_ += indent_ < 0 ? ", " : ",";
    first = false;
    new_line();
  }

  void close(char bracket) {
    --depth_;
    new_line();
    out_ += bracket;
  }

  void new_line() {
    if (indent_ < 0) return;
    out_ += '\n';
    out_.append(static_cast<size_t>(indent_) * depth_, ' ');
  }

  int indent_;
  bool sort_keys_;
  bool ensure_ascii_;
  size_t depth_ = 0;
  std::string out_;
};

}  // namespace

std::string dump_json(const Json& value, int indent, bool sort_keys, bool ensure_ascii) {
  Writer writer(indent, sort_keys, ensure_ascii);
  writer.write(value);
  return writer.take();
}

}  // namespace cantilever
