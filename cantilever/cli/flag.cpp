#include "cantilever/cli/flag.h"

#include <algorithm>
#include <utility>

#include "cantilever/base/error.h"

namespace cantilever {
namespace {

Flag make(std::string name, FlagType type, const char* default_json, std::string help,
          FlagStatus status, std::string note) {
  Flag flag;
  flag.default_value = parse_json(default_json, concat("default of --", name));
  flag.name = std::move(name);
  flag.type = type;
  flag.help = std::move(help);
  flag.status = status;
  flag.note = std::move(note);
  return flag;
}

std::string with_underscores(std::string name) {
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
}

}  // namespace

Flag Flag::alias(std::string other) && {
  aliases.push_back(std::move(other));
  return std::move(*this);
}

Flag Flag::one_of(std::vector<std::string> values, std::string about_others) && {
  choices = std::move(values);
  choice_note = std::move(about_others);
  return std::move(*this);
}

Flag Flag::or_word(std::string word) && {
  words.push_back(std::move(word));
  return std::move(*this);
}

Flag Flag::numbers(size_t how_many) && {
  count = how_many;
  return std::move(*this);
}

Flag Flag::at_least(double value) && {
  minimum = value;
  return std::move(*this);
}

Flag Flag::at_most(double value) && {
  maximum = value;
  return std::move(*this);
}

Flag Flag::or_bare(std::string value) && {
  bare = std::move(value);
  return std::move(*this);
}

Flag Flag::accumulating() && {
  accumulates = true;
  return std::move(*this);
}

Flag Flag::hidden_value() && {
  secret = true;
  return std::move(*this);
}

Flag same(std::string name, FlagType type, const char* default_json, std::string help) {
  return make(std::move(name), type, default_json, std::move(help), FlagStatus::kSame, "");
}

Flag differs(std::string name, FlagType type, const char* default_json, std::string help,
             std::string in_what) {
  return make(std::move(name), type, default_json, std::move(help), FlagStatus::kDiffers,
              std::move(in_what));
}

Flag own(std::string name, FlagType type, const char* default_json, std::string help) {
  return make(std::move(name), type, default_json, std::move(help), FlagStatus::kOwn, "");
}

Flag no_effect(std::string name, FlagType type, const char* default_json, std::string instead) {
  return make(std::move(name), type, default_json, "", FlagStatus::kNoEffect, std::move(instead));
}

Flag refused(std::string name, FlagType type, const char* default_json, std::string reason) {
  return make(std::move(name), type, default_json, "", FlagStatus::kRefused, std::move(reason));
}

FlagTable::FlagTable(std::vector<FlagGroup> groups, std::string positional)
    : groups_(std::move(groups)), positional_(std::move(positional)) {
  for (size_t g = 0; g < groups_.size(); ++g) {
    for (size_t f = 0; f < groups_[g].flags.size(); ++f) {
      const Flag& flag = groups_[g].flags[f];
      std::vector<std::string> spelled = flag.aliases;
      spelled.push_back(flag.name);
      for (const std::string& name : spelled) {
        CANTILEVER_ASSERT(index_.emplace(name, std::pair(g, f)).second, "flag --", name,
                          " stands twice in the table");
      }
    }
  }
  CANTILEVER_ASSERT(positional_.empty() || find(positional_) != nullptr);
}

const Flag* FlagTable::find(const std::string& name) const {
  const auto found = index_.find(with_underscores(name));
  if (found == index_.end()) return nullptr;
  return &groups_[found->second.first].flags[found->second.second];
}

std::vector<std::string> FlagTable::names() const {
  std::vector<std::string> out;
  for (const auto& entry : index_) out.push_back(entry.first);
  return out;
}

std::string expected_value(const Flag& flag) {
  if (!flag.choices.empty()) {
    std::string text = "one of ";
    for (size_t i = 0; i < flag.choices.size(); ++i) {
      text += concat(i == 0 ? "" : ", ", flag.choices[i]);
    }
    return text;
  }
  switch (flag.type) {
    case FlagType::kString:
      return "a text";
    case FlagType::kInt: {
      std::string text = "a whole number";
      for (const std::string& word : flag.words) text += concat(" or ", word);
      return text;
    }
    case FlagType::kFloat:
      return "a number";
    case FlagType::kBool:
      return "True or False";
    case FlagType::kStrings:
      return "one or more words";
    case FlagType::kFloats:
      return concat(flag.count, " numbers");
    case FlagType::kJson:
      return "a JSON object such as '{\"name\": 1}'";
  }
  return "";
}

std::string display_value(const Json& value) {
  if (value.is_null()) return "none";
  if (value.is_boolean()) return value.get<bool>() ? "True" : "False";
  if (value.is_string())
    return value.get<std::string>().empty() ? "none" : value.get<std::string>();
  if (value.is_array()) {
    std::string text;
    for (const Json& word : value) text += concat(text.empty() ? "" : " ", display_value(word));
    return text.empty() ? "none" : text;
  }
  return dump_json(value, -1);
}

}  // namespace cantilever
