#pragma once

#include <string>
#include <vector>

#include "cantilever/cli/command.h"

namespace cantilever {

// `cantilever --help`.
std::string program_help();

// `cantilever COMMAND --help`: flags by group with defaults; those without effect or refused last.
std::string command_help(const Command& command);

// docs/flags.md: all commands, one table a group. Committed, and a test compares.
std::string flags_markdown(const std::vector<Command>& all);

}  // namespace cantilever
