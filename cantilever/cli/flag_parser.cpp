#include "cantilever/cli/flag_parser.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <utility>

#include "cantilever/cli/args_file.h"

namespace cantilever {
namespace {

[[noreturn]] void usage_error(const std::string& message) {
  throw UsageError(message);
}

std::string lower(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return text;
}

std::string upper(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(),
                 [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
  return text;
}

std::string trimmed(const std::string& text) {
  const size_t begin = text.find_first_not_of(" \t\n\r");
  if (begin == std::string::npos) return "";
  return text.substr(begin, text.find_last_not_of(" \t\n\r") - begin + 1);
}

[[noreturn]] void wrong_value(const Flag& flag, const std::string& shown,
                              const std::string& where) {
  usage_error(concat(where, ": ", quoted(shown), " is not ", expected_value(flag),
                     flag.choice_note.empty() ? "" : concat("; ", flag.choice_note)));
}

std::optional<bool> parse_bool(const std::string& text) {
  // The words of HfArgumentParser's string_to_bool.
  static const std::set<std::string> kTrue = {"yes", "true", "t", "y", "1"};
  static const std::set<std::string> kFalse = {"no", "false", "f", "n", "0"};
  const std::string word = lower(text);
  if (kTrue.contains(word)) return true;
  if (kFalse.contains(word)) return false;
  return std::nullopt;
}

// As Python's int(): blanks around, a sign, single underscores between digits.
std::optional<int64_t> parse_int(const std::string& text) {
  std::string digits;
  const std::string word = trimmed(text);
  for (size_t i = 0; i < word.size(); ++i) {
    const bool inner = i > 0 && i + 1 < word.size();
    if (word[i] == '_' && inner && word[i - 1] != '_') continue;
    if (word[i] == '+' && i == 0) continue;
    digits += word[i];
  }
  int64_t value = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (digits.empty() || error != std::errc() || end != digits.data() + digits.size()) {
    return std::nullopt;
  }
  return value;
}

std::optional<double> parse_float(const std::string& text) {
  std::string word = trimmed(text);
  if (!word.empty() && word[0] == '+') word.erase(0, 1);
  double value = 0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
  if (word.empty() || error != std::errc() || end != word.data() + word.size()) return std::nullopt;
  return value;
}

bool is_none(const Flag& flag, const std::string& text) {
  const bool plain = flag.type == FlagType::kInt || flag.type == FlagType::kFloat ||
                     flag.type == FlagType::kBool || flag.type == FlagType::kJson ||
                     flag.type == FlagType::kFloats;
  return plain && flag.default_value.is_null() && (text == "None" || text == "null");
}

void check_range(const Flag& flag, double value, const std::string& shown,
                 const std::string& where) {
  if (std::isnan(value) && (flag.minimum || flag.maximum)) {
    usage_error(concat(where, ": ", quoted(shown), " is not a number"));
  }
  if (flag.minimum && !(value >= *flag.minimum)) {
    usage_error(
        concat(where, ": ", quoted(shown), " is too small; the smallest value is ", *flag.minimum));
  }
  if (flag.maximum && !(value <= *flag.maximum)) {
    usage_error(concat(where, ": ", quoted(shown), " is too large; the largest value is ",
                       static_cast<int64_t>(*flag.maximum)));
  }
}

std::string checked_word(const Flag& flag, const std::string& word, const std::string& where) {
  if (!flag.choices.empty() &&
      std::find(flag.choices.begin(), flag.choices.end(), word) == flag.choices.end()) {
    wrong_value(flag, word, where);
  }
  return word;
}

Json json_object(const Flag& flag, const std::string& text, const std::string& where) {
  Json value;
  try {
    value = parse_json(text, where);
  } catch (const Error&) {
    wrong_value(flag, text, where);
  }
  if (!value.is_object()) wrong_value(flag, text, where);
  return value;
}

// The numbers of a kFloats flag from words, or from the values of a JSON list.
Json numbers_of(const Flag& flag, const Json& list, const std::string& where) {
  const auto wrong = [&] {
    std::string shown;
    for (const Json& item : list) shown += concat(shown.empty() ? "" : " ", display_value(item));
    wrong_value(flag, shown, where);
  };
  if (list.size() != flag.count) wrong();
  Json numbers = Json::array();
  for (const Json& item : list) {
    const auto value = item.is_string()   ? parse_float(item.get<std::string>())
                       : item.is_number() ? std::optional<double>(item.get<double>())
                                          : std::nullopt;
    if (!value) wrong();
    check_range(flag, *value, display_value(item), where);
    numbers.push_back(*value);
  }
  return numbers;
}

// "0.4 1.0" or "0.4,1.0", as one word holds them.
Json numbers_of_text(const Flag& flag, const std::string& text, const std::string& where) {
  Json words = Json::array();
  for (size_t at = 0; at < text.size();) {
    const size_t end = std::min(text.find_first_of(" ,", at), text.size());
    if (end > at) words.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  return numbers_of(flag, words, where);
}

}  // namespace

Json flag_value_from_text(const Flag& flag, const std::string& text, const std::string& where) {
  if (is_none(flag, text)) return nullptr;
  switch (flag.type) {
    case FlagType::kString:
      return checked_word(flag, text, where);
    case FlagType::kStrings:
      return Json::array({checked_word(flag, text, where)});
    case FlagType::kFloats:
      return numbers_of_text(flag, text, where);
    case FlagType::kJson:
      return json_object(flag, text, where);
    case FlagType::kBool: {
      const auto value = parse_bool(text);
      if (!value) wrong_value(flag, text, where);
      return *value;
    }
    case FlagType::kInt: {
      if (std::find(flag.words.begin(), flag.words.end(), text) != flag.words.end()) return text;
      const auto value = parse_int(text);
      if (!value) wrong_value(flag, text, where);
      check_range(flag, static_cast<double>(*value), text, where);
      return *value;
    }
    case FlagType::kFloat: {
      const auto value = parse_float(text);
      if (!value) wrong_value(flag, text, where);
      check_range(flag, *value, text, where);
      return *value;
    }
  }
  return nullptr;
}

Json flag_value_from_json(const Flag& flag, const Json& value, const std::string& where) {
  if (value.is_string()) return flag_value_from_text(flag, value.get<std::string>(), where);
  if (value.is_null() && flag.default_value.is_null()) return nullptr;
  if (flag.type == FlagType::kStrings && value.is_array()) {
    Json words = Json::array();
    for (const Json& word : value) {
      if (!word.is_string()) wrong_value(flag, dump_json(value, -1), where);
      words.push_back(checked_word(flag, word.get<std::string>(), where));
    }
    return words;
  }
  if (flag.type == FlagType::kFloats && value.is_array()) return numbers_of(flag, value, where);
  if (flag.type == FlagType::kJson && value.is_object()) return value;
  if (flag.type == FlagType::kBool && value.is_boolean()) return value;
  if (flag.type == FlagType::kString && value.is_boolean()) {
    // YAML reads no, on and off as booleans; a flag that has such a word among its values means it.
    for (const char* word : {value.get<bool>() ? "on" : "off", value.get<bool>() ? "yes" : "no"}) {
      if (std::find(flag.choices.begin(), flag.choices.end(), word) != flag.choices.end()) {
        return word;
      }
    }
  }
  const bool plain = value.is_number() || value.is_boolean();
  const bool number_wanted = flag.type == FlagType::kInt || flag.type == FlagType::kFloat;
  if (plain && !(number_wanted && value.is_boolean()) && flag.type != FlagType::kJson &&
      flag.type != FlagType::kStrings && flag.type != FlagType::kFloats) {
    // 3.0 for a whole number, 1 for True, a number for a text: what the words would have given.
    const bool whole = value.is_number_float() && flag.type == FlagType::kInt &&
                       value.get<double>() == std::floor(value.get<double>()) &&
                       std::abs(value.get<double>()) < 9e15;
    return flag_value_from_text(
        flag,
        whole ? std::to_string(static_cast<int64_t>(value.get<double>())) : display_value(value),
        where);
  }
  wrong_value(flag, value.is_null() ? "null" : dump_json(value, -1), where);
}

FlagValues::FlagValues(const FlagTable& table) : table_(&table) {
  for (const FlagGroup& group : table.groups()) {
    for (const Flag& flag : group.flags) values_[flag.name] = flag.default_value;
  }
}

const Json& FlagValues::json(const std::string& name) const {
  const auto found = values_.find(name);
  CANTILEVER_ASSERT(found != values_.end(), "there is no flag --", name);
  return found->second;
}

std::string FlagValues::text(const std::string& name) const {
  const Json& value = json(name);
  return value.is_null() ? "" : value.get<std::string>();
}

std::vector<std::string> FlagValues::words(const std::string& name) const {
  const Json& value = json(name);
  if (value.is_null()) return {};
  return value.get<std::vector<std::string>>();
}

void FlagValues::set(const std::string& name, Json value) {
  const Flag* flag = table_->find(name);
  CANTILEVER_ASSERT(flag != nullptr, "there is no flag --", name);
  Json& kept = values_[flag->name];
  if (flag->accumulates && given_.contains(flag->name) && kept.is_array()) {
    for (const Json& word : value) kept.push_back(word);
  } else {
    kept = std::move(value);
  }
  given_.insert(flag->name);
}

Json FlagValues::as_json() const {
  Json out = Json::object();
  for (const FlagGroup& group : table_->groups()) {
    for (const Flag& flag : group.flags) {
      const Json& value = values_.at(flag.name);
      if (flag.suppressed) continue;
      out[flag.name] = flag.secret && !value.is_null() ? Json("<" + upper(flag.name) + ">") : value;
    }
  }
  return out;
}

std::vector<std::string> FlagValues::notes() const {
  std::vector<std::string> out;
  for (const FlagGroup& group : table_->groups()) {
    for (const Flag& flag : group.flags) {
      if (flag.status != FlagStatus::kNoEffect || !given(flag.name)) continue;
      out.push_back(concat("--", flag.name, " has no effect here: ", flag.note));
    }
  }
  return out;
}

std::string nearest_flag(const FlagTable& table, const std::string& name) {
  std::string wanted = name;
  std::replace(wanted.begin(), wanted.end(), '-', '_');
  // argparse takes the beginning of a name for the name; here it is only a hint.
  std::vector<std::string> beginnings;
  for (const std::string& candidate : table.names()) {
    if (wanted.size() >= 3 && candidate.starts_with(wanted)) beginnings.push_back(candidate);
  }
  const std::string nearest =
      beginnings.size() == 1 ? beginnings[0] : nearest_name(wanted, table.names());
  return nearest.empty() ? "" : concat("; did you mean --", nearest, "?");
}

namespace {

class ArgumentReader {
 public:
  ArgumentReader(const FlagTable& table, const std::vector<std::string>& arguments)
      : table_(table), arguments_(arguments), values_(table) {}

  FlagValues read() {
    while (next_ < arguments_.size()) {
      const std::string& word = arguments_[next_++];
      if (is_flag(word)) {
        read_flag(word);
      } else if (next_ == 1 && is_args_file(word) && table_.positional().empty()) {
        read_file(word);
      } else {
        read_positional(word);
      }
    }
    check_refused();
    return std::move(values_);
  }

 private:
  static bool is_flag(const std::string& word) { return word.size() > 2 && word.starts_with("--"); }

  bool value_follows() const { return next_ < arguments_.size() && !is_flag(arguments_[next_]); }

  void read_positional(const std::string& word) {
    if (!table_.positional().empty() && !word.starts_with("-")) {
      values_.set(table_.positional(), Json::array({word}));
      return;
    }
    if (word.size() > 1 && word[0] == '-') {
      usage_error(concat("unknown flag ", quoted(word), ": flags begin with two dashes",
                         nearest_flag(table_, word.substr(1))));
    }
    usage_error(concat("unexpected word ", quoted(word),
                       ": values follow a flag (--flag value), and a .json or .yaml file of flags "
                       "comes first"));
  }

  void read_file(const std::string& path) {
    const Json flags = read_args_file(path);
    for (const auto& [key, value] : flags.items()) {
      const Flag* flag = table_.find(key);
      if (flag == nullptr) {
        usage_error(concat(path, ": unknown flag ", quoted(key), nearest_flag(table_, key)));
      }
      values_.set(flag->name, flag_value_from_json(*flag, value, concat(path, ": ", flag->name)));
    }
  }

  void read_flag(const std::string& word) {
    const size_t equals = word.find('=');
    const std::string name = word.substr(2, equals == std::string::npos ? equals : equals - 2);
    std::optional<std::string> value;
    if (equals != std::string::npos) value = word.substr(equals + 1);

    const Flag* flag = table_.find(name);
    if (flag == nullptr) return read_negated(name, value);
    const std::string where = concat("--", name);
    if (flag->type == FlagType::kStrings) return read_words(*flag, value, where);
    if (flag->type == FlagType::kFloats && !value) return read_numbers(*flag, where);
    // Where words stand alone (`info --json FOLDER`), one behind a switch is not its value.
    const bool stands_alone = flag->type == FlagType::kBool && !table_.positional().empty() &&
                              value_follows() && !parse_bool(arguments_[next_]);
    if (!value && value_follows() && !stands_alone) value = arguments_[next_++];
    if (!value && flag->type == FlagType::kBool) return values_.set(flag->name, true);
    if (!value) value = flag->bare;
    if (!value)
      usage_error(concat(where, ": a value is missing; expected ", expected_value(*flag)));
    values_.set(flag->name, flag_value_from_text(*flag, *value, where));
  }

  void read_words(const Flag& flag, const std::optional<std::string>& value,
                  const std::string& where) {
    Json words = Json::array();
    if (value) words.push_back(checked_word(flag, *value, where));
    while (!value && value_follows()) {
      words.push_back(checked_word(flag, arguments_[next_++], where));
    }
    if (words.empty()) {
      usage_error(concat(where, ": a value is missing; expected ", expected_value(flag)));
    }
    values_.set(flag.name, std::move(words));
  }

  void read_numbers(const Flag& flag, const std::string& where) {
    Json words = Json::array();
    while (value_follows() && words.size() < flag.count) words.push_back(arguments_[next_++]);
    if (words.size() == 1)
      return values_.set(flag.name, flag_value_from_text(flag, words[0], where));
    values_.set(flag.name, numbers_of(flag, words, where));
  }

  // --no_flag of a boolean, or an unknown flag.
  void read_negated(const std::string& name, const std::optional<std::string>& value) {
    const bool negated = name.starts_with("no_") || name.starts_with("no-");
    const Flag* flag = negated ? table_.find(name.substr(3)) : nullptr;
    if (flag == nullptr || flag->type != FlagType::kBool) {
      usage_error(concat("unknown flag --", name, nearest_flag(table_, name)));
    }
    if (value) usage_error(concat("--", name, " takes no value; --", flag->name, " does"));
    values_.set(flag->name, false);
  }

  void check_refused() const {
    for (const FlagGroup& group : table_.groups()) {
      for (const Flag& flag : group.flags) {
        if (flag.status != FlagStatus::kRefused || !values_.given(flag.name) ||
            values_.json(flag.name) == flag.default_value) {
          continue;
        }
        // False and "" ask for nothing, whatever the default is.
        const Json& value = values_.json(flag.name);
        if (flag.default_value.is_null() && (value == Json(false) || value == Json(""))) continue;
        usage_error(concat("--", flag.name, " is refused: ", flag.note));
      }
    }
  }

  const FlagTable& table_;
  const std::vector<std::string>& arguments_;
  FlagValues values_;
  size_t next_ = 0;
};

}  // namespace

FlagValues parse_flags(const FlagTable& table, const std::vector<std::string>& arguments) {
  return ArgumentReader(table, arguments).read();
}

}  // namespace cantilever
