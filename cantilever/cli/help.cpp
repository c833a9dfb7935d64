#include "cantilever/cli/help.h"

#include <algorithm>

#include "cantilever/base/error.h"

namespace cantilever {
namespace {

constexpr size_t kWidth = 100;
constexpr size_t kIndent = 6;

std::string wrapped(const std::string& text, size_t indent) {
  std::string out, line(indent, ' ');
  size_t at = 0;
  while (at < text.size()) {
    const size_t end = std::min(text.find(' ', at), text.size());
    const std::string word = text.substr(at, end - at);
    at = end + 1;
    if (word.empty()) continue;
    if (line.size() > indent && line.size() + 1 + word.size() > kWidth) {
      out += line + "\n";
      line = std::string(indent, ' ');
    }
    if (line.size() > indent) line += ' ';
    line += word;
  }
  return out + line + "\n";
}

std::string placeholder(const Flag& flag) {
  switch (flag.type) {
    case FlagType::kString:
      return flag.bare ? " [TEXT]" : " TEXT";
    case FlagType::kInt: {
      std::string text = " INT";
      for (const std::string& word : flag.words) text += concat("|", word);
      return text;
    }
    case FlagType::kFloat:
      return " NUMBER";
    case FlagType::kBool:
      return " [True|False]";
    case FlagType::kStrings:
      return " TEXT...";
    case FlagType::kFloats: {
      std::string text;
      for (size_t i = 0; i < flag.count; ++i) text += " NUMBER";
      return text;
    }
    case FlagType::kJson:
      return " JSON";
  }
  return "";
}

std::string joined(const std::vector<std::string>& words, const char* between,
                   const char* before = "") {
  std::string out;
  for (const std::string& word : words) out += concat(out.empty() ? "" : between, before, word);
  return out;
}

// Few choices stand behind the flag's name, many in its text.
bool choices_in_name(const Flag& flag) {
  return flag.choices.size() > 1 && flag.choices.size() <= 6 && flag.type != FlagType::kStrings;
}

std::string spelled(const Flag& flag) {
  const std::string name = "--" + flag.name;
  return choices_in_name(flag) ? concat(name, " ", joined(flag.choices, "|"))
                               : name + placeholder(flag);
}

bool has_effect(const Flag& flag) {
  return flag.status != FlagStatus::kNoEffect && flag.status != FlagStatus::kRefused;
}

std::string flag_help(const Flag& flag) {
  std::string text = flag.help;
  if (flag.status == FlagStatus::kDiffers) text += concat(" [", flag.note, "]");
  if (flag.choices.size() > 1 && !choices_in_name(flag)) {
    text += concat(" One of ", joined(flag.choices, ", "), ".");
  }
  text += concat(" (default: ", display_value(flag.default_value), ")");
  if (!flag.aliases.empty()) text += concat(" (also ", joined(flag.aliases, ", ", "--"), ")");
  return wrapped(spelled(flag), 2) + wrapped(text, kIndent);
}

// The flags of one status over all groups, by what is said about them.
std::string flags_of_status(const FlagTable& table, FlagStatus status, const std::string& title) {
  std::vector<std::pair<std::string, std::vector<std::string>>> by_note;
  for (const FlagGroup& group : table.groups()) {
    for (const Flag& flag : group.flags) {
      if (flag.status != status) continue;
      auto found = std::find_if(by_note.begin(), by_note.end(),
                                [&](const auto& entry) { return entry.first == flag.note; });
      if (found == by_note.end()) found = by_note.insert(found, {flag.note, {}});
      found->second.push_back(flag.name);
    }
  }
  std::string out;
  for (const auto& [note, names] : by_note) {
    out += wrapped(joined(names, ", ", "--"), 2) + wrapped(note, kIndent);
  }
  return out.empty() ? "" : concat("\n", title, "\n", out);
}

std::string escaped(std::string text) {
  for (size_t at = text.find('|'); at != std::string::npos; at = text.find('|', at + 2)) {
    text.insert(at, "\\");
  }
  return text;
}

const char* status_name(FlagStatus status) {
  switch (status) {
    case FlagStatus::kSame:
      return "same";
    case FlagStatus::kDiffers:
      return "differs";
    case FlagStatus::kOwn:
      return "only here";
    case FlagStatus::kNoEffect:
      return "no effect";
    case FlagStatus::kRefused:
      return "refused";
  }
  return "";
}

std::string markdown_row(const Flag& flag) {
  std::string names = concat("`--", flag.name, "`");
  for (const std::string& alias : flag.aliases) names += concat(", `--", alias, "`");
  std::string meaning = flag.help;
  if (flag.choices.size() > 1) {
    meaning += concat(meaning.empty() ? "" : " ", "One of ", joined(flag.choices, ", "), ".");
  }
  if (!flag.note.empty()) meaning += concat(meaning.empty() ? "" : " Differs: ", flag.note, ".");
  if (!flag.choice_note.empty()) meaning += concat(" Others: ", flag.choice_note, ".");
  const std::string fallback = display_value(flag.default_value);
  return concat("| ", names, " | ", escaped(fallback), " | ", status_name(flag.status), " | ",
                escaped(meaning), " |\n");
}

}  // namespace

std::string program_help() {
  std::string out =
      "usage: cantilever COMMAND [--flag value ...]\n\n"
      "Fine-tunes BridgeTower with the contrastive image-text loss; reads and writes Hugging Face "
      "files.\n\nCommands:\n";
  for (const Command& command : commands()) {
    std::string name = command.name;
    name.resize(std::max<size_t>(10, name.size()), ' ');
    out += concat("  ", name, " ", command.summary, "\n");
  }
  out +=
      "\n`cantilever COMMAND --help` lists the flags of a command, `cantilever --version` says "
      "what "
      "this is.\nExit status: 0 done, 1 the work failed, 2 wrong usage, 130 or 143 stopped by a "
      "signal after saving.\n";
  return out;
}

std::string command_help(const Command& command) {
  const FlagTable& table = command.flags();
  std::string out = wrapped(concat("usage: cantilever ", command.name, " ", command.usage), 0);
  out += "\n" + wrapped(command.summary, 0);
  for (const FlagGroup& group : table.groups()) {
    std::string flags;
    for (const Flag& flag : group.flags) {
      if (has_effect(flag) && !flag.suppressed) flags += flag_help(flag);
    }
    if (!flags.empty()) out += concat("\n", group.title, ":\n", flags);
  }
  out += flags_of_status(table, FlagStatus::kNoEffect, "Accepted without effect:");
  out += flags_of_status(table, FlagStatus::kRefused, "Refused:");
  return out;
}

std::string flags_markdown(const std::vector<Command>& all) {
  std::string out =
      "# Flags\n\n"
      "Made from the program's flag table by `cantilever help --markdown`; a test compares. Flags "
      "are "
      "spelled `--flag value` or `--flag=value`, booleans also `--flag` and `--no_flag`, dashes "
      "are as "
      "good as underscores, and `cantilever COMMAND flags.json` (or `.yaml`, one `key: value` a "
      "line) "
      "takes them from a file.\n\n"
      "How a flag stands to the one of the same name in Transformers 5.24 (`TrainingArguments`), "
      "`run_bridgetower.py` or Optimum Habana: *same*; *differs*, with in what; *only here*; *no "
      "effect*: accepted, and the log says once what happens instead; *refused*: an error that "
      "says "
      "why, when it is given another value than its default.\n";
  for (const Command& command : all) {
    out += concat("\n## `cantilever ", command.name, "`\n\n", command.summary, "\n");
    for (const FlagGroup& group : command.flags().groups()) {
      out += concat("\n### ", group.title,
                    "\n\n| flag | default | | meaning |\n| --- | --- | --- | --- |\n");
      for (const Flag& flag : group.flags) {
        if (!flag.suppressed) out += markdown_row(flag);
      }
    }
  }
  return out;
}

}  // namespace cantilever
