#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "cantilever/base/error.h"
#include "cantilever/cli/flag.h"

namespace cantilever {

// The values of a command's flags: given or default.
class FlagValues {
 public:
  explicit FlagValues(const FlagTable& table);

  bool given(const std::string& name) const { return given_.contains(name); }
  const Json& json(const std::string& name) const;

  template <class T>
  T get(const std::string& name) const {
    const Json& value = json(name);
    CANTILEVER_ASSERT(!value.is_null(), "--", name, " has no value");
    return value.get<T>();
  }
  // "" when not set.
  std::string text(const std::string& name) const;
  bool flag(const std::string& name) const { return get<bool>(name); }
  template <class T>
  std::optional<T> optional(const std::string& name) const {
    const Json& value = json(name);
    return value.is_null() ? std::nullopt : std::optional<T>(value.get<T>());
  }
  std::vector<std::string> words(const std::string& name) const;

  void set(const std::string& name, Json value);

  // All flags in the table's order; secrets as "<NAME>", as Transformers writes them.
  Json as_json() const;
  // One sentence for each given flag that has no effect here: what happens instead.
  std::vector<std::string> notes() const;

  const FlagTable& table() const { return *table_; }

 private:
  const FlagTable* table_;
  std::map<std::string, Json> values_;
  std::set<std::string> given_;
};

// Parses what stands behind the command's name, as transformers.HfArgumentParser (5.24) reads it:
// --flag value, --flag=value, --flag and --flag True for booleans, --no_flag, dashes for
// underscores, words of a list until the next flag, the last of repeated flags. The first word may
// be a .json, .yaml or .yml file of flags, which later flags overrule. Throws UsageError that names
// the flag, the value and what is expected; for an unknown flag the nearest one; for a refused flag
// the reason. The table must outlive the result.
FlagValues parse_flags(const FlagTable& table, const std::vector<std::string>& arguments);

// A flag's value from text, or from a value of a JSON or YAML file; `where` starts the messages.
Json flag_value_from_text(const Flag& flag, const std::string& text, const std::string& where);
Json flag_value_from_json(const Flag& flag, const Json& value, const std::string& where);

// "; did you mean --NAME?" or nothing.
std::string nearest_flag(const FlagTable& table, const std::string& name);

}  // namespace cantilever
