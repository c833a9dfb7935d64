#include "cantilever/cli/main.h"

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <string>
#include <vector>

#include "cantilever/base/error.h"
#include "cantilever/base/log.h"
#include "cantilever/cli/bus_error.h"
#include "cantilever/cli/command.h"
#include "cantilever/cli/failure.h"
#include "cantilever/cli/help.h"
#include "cantilever/cli/output.h"
#include "cantilever/cli/version.h"

namespace cantilever {
namespace {

using Words = std::vector<std::string>;

bool asks_for_help(const Words& words) {
  return std::find(words.begin(), words.end(), "--help") != words.end() ||
         (!words.empty() && (words[0] == "-h" || words[0] == "help"));
}

// Before the flags are parsed, so that an error in them can be looked into as well.
bool asks_for_debug(const Words& words) {
  for (size_t i = 0; i < words.size(); ++i) {
    if (words[i] != "--debug" && words[i] != "--debug=True" && words[i] != "--debug=true") continue;
    return i + 1 == words.size() || (words[i + 1] != "False" && words[i + 1] != "false");
  }
  return false;
}

void apply_log_level(const FlagValues& values) {
  const std::string level = values.text("log_level");
  if (values.flag("debug") || level == "debug") {
    set_log_level(LogLevel::kDebug);
  } else if (level == "warning") {
    set_log_level(LogLevel::kWarning);
  } else if (level == "error" || level == "critical") {
    set_log_level(LogLevel::kError);
  } else {
    set_log_level(LogLevel::kInfo);
  }
}

[[noreturn]] void unknown_command(const std::string& name) {
  for (const LaterCommand& later : later_commands()) {
    if (later.name == name) {
      throw UsageError(
          concat("`cantilever ", name, "` comes with a later version; ", later.instead));
    }
  }
  Words names;
  for (const Command& command : commands()) names.push_back(command.name);
  const std::string nearest = nearest_name(name, names);
  throw UsageError(concat(
      name.starts_with("-") ? "a command comes before the flags, not " : "there is no command ",
      quoted(name), nearest.empty() ? "" : concat("; did you mean ", quoted(nearest), "?"),
      " (`cantilever --help` lists the commands)"));
}

const Command& known_command(const std::string& name) {
  const Command* command = find_command(name);
  if (command == nullptr) unknown_command(name);
  return *command;
}

int print_help(const Words& words) {
  if (words.size() == 1) {
    print(program_help());
  } else if (words[1] == "--markdown") {
    print(flags_markdown(commands()));
  } else {
    print(command_help(known_command(words[1])));
  }
  return 0;
}

int run_words(const Words& words) {
  if (words.empty()) {
    std::fputs(program_help().c_str(), stderr);
    return 2;
  }
  if (words[0] == "--version") {
    print(version_line() + "\n");
    return 0;
  }
  if (words[0] == "--help" || words[0] == "-h" || words[0] == "help") return print_help(words);
  const Command& command = known_command(words[0]);
  const Words arguments(words.begin() + 1, words.end());
  if (asks_for_help(arguments)) {
    print(command_help(command));
    return 0;
  }
  const FlagValues values = parse_flags(command.flags(), arguments);
  apply_log_level(values);
  return command.run(values);
}

}  // namespace

int run_main(int argc, char** argv) {
  // A closed pipe is an error of the write that meets it, not the end of a training run.
  std::signal(SIGPIPE, SIG_IGN);
  std::signal(SIGXFSZ, SIG_IGN);  // a file size limit is then a write error with a name
  name_files_that_shrink();
  const Words words(argv + std::min(argc, 1), argv + argc);
  const bool debug = asks_for_debug(words);
  if (debug) keep_throw_stacks();
  try {
    return run_words(words);
  } catch (...) {
    const Failure failure = describe_failure(std::current_exception());
    std::string text = concat("cantilever: error: ", failure.message, "\n");
    if (debug) text += concat("thrown as ", failure.type, " at\n", failure.stack);
    std::fputs(text.c_str(), stderr);
    return failure.exit_status;
  }
}

}  // namespace cantilever
