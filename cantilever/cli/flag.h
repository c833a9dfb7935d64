#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "cantilever/io/json.h"

namespace cantilever {

enum class FlagType {
  kString,
  kInt,
  kFloat,
  kBool,
  kStrings,  // one or more words
  kFloats,   // `count` numbers
  kJson,     // an object as JSON text
};

// How a flag stands to the flag of the same name in Transformers 5.24 or Optimum Habana.
enum class FlagStatus {
  kSame,
  kDiffers,   // note: in what
  kOwn,       // only here
  kNoEffect,  // accepted; note: what happens instead, logged once when the flag is given
  kRefused,   // an error when it is given another value than the default; note: reason, what to use
};

// One row of a flag table. Everything that can be known about a flag is here, once: parsing,
// --help, training_args.json and docs/flags.md are all made from it.
struct Flag {
  std::string name;  // with underscores, without dashes
  FlagType type = FlagType::kString;
  Json default_value;  // null: not set
  std::string help;
  FlagStatus status = FlagStatus::kSame;
  std::string note;
  std::vector<std::string> aliases;  // other names, as older versions spelled it
  std::vector<std::string> choices;  // of each word; empty: any
  std::vector<std::string> words;    // that stand for a number of kInt, such as auto
  size_t count = 0;                  // kFloats: how many numbers
  std::string choice_note;           // what to say about another choice
  std::optional<double> minimum, maximum;
  std::optional<std::string> bare;  // value of a kString flag that is given without one
  bool accumulates = false;         // kStrings: a repeated flag adds words, otherwise the last wins
  bool secret = false;              // never printed nor stored
  bool suppressed = false;          // not in --help's list (--help itself)

  Flag alias(std::string other) &&;
  Flag one_of(std::vector<std::string> values, std::string about_others = "") &&;
  Flag or_word(std::string word) &&;
  Flag numbers(size_t how_many) &&;
  Flag at_least(double value) &&;
  Flag at_most(double value) &&;
  Flag or_bare(std::string value) &&;
  Flag accumulating() &&;
  Flag hidden_value() &&;
};

// Largest value of counts (steps, batches, rows): their products still fit into 64 bits.
inline constexpr double kLargestCount = 2147483647;
inline constexpr double kMostThreads = 1024;

// Makers, one a status; `default_json` is JSON text: "null", "8", "true", "\"linear\"", "[]".
Flag same(std::string name, FlagType type, const char* default_json, std::string help);
Flag differs(std::string name, FlagType type, const char* default_json, std::string help,
             std::string in_what);
Flag own(std::string name, FlagType type, const char* default_json, std::string help);
Flag no_effect(std::string name, FlagType type, const char* default_json, std::string instead);
Flag refused(std::string name, FlagType type, const char* default_json, std::string reason);

struct FlagGroup {
  std::string title;
  std::vector<Flag> flags;
};

class FlagTable {
 public:
  // positional: name of the kStrings flag that words without a flag go to; empty: they are errors.
  explicit FlagTable(std::vector<FlagGroup> groups, std::string positional = "");

  const std::vector<FlagGroup>& groups() const { return groups_; }
  const std::string& positional() const { return positional_; }
  // By name or alias, dashes as good as underscores; null when there is none.
  const Flag* find(const std::string& name) const;
  std::vector<std::string> names() const;  // and aliases

 private:
  std::vector<FlagGroup> groups_;
  std::string positional_;
  std::map<std::string, std::pair<size_t, size_t>> index_;
};

// "a whole number", "True or False": what a flag of this type expects.
std::string expected_value(const Flag& flag);

// A default or value as a user would type it: "True", "none" for null, words separated by blanks.
std::string display_value(const Json& value);

}  // namespace cantilever
