#pragma once

#include <string>
#include <vector>

#include "cantilever/cli/flag_parser.h"

namespace cantilever {

// One command of the program: one file each, one line in command.cpp.
struct Command {
  std::string name;
  std::string summary;
  std::string usage;  // what stands behind the name
  const FlagTable& (*flags)();
  int (*run)(const FlagValues& values);  // exit status
};

const std::vector<Command>& commands();
const Command* find_command(const std::string& name);  // null when there is none

// Commands of the contract that a later version brings, with what to do until then.
struct LaterCommand {
  std::string name;
  std::string instead;
};
const std::vector<LaterCommand>& later_commands();

}  // namespace cantilever
