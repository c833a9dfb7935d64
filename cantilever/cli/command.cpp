#include "cantilever/cli/command.h"

#include "cantilever/cli/run_commands.h"

namespace cantilever {

const std::vector<Command>& commands() {
  static const std::vector<Command> all = {
      train_command(),  init_command(), search_command(), inspect_command(),
      verify_command(), info_command(), bench_command(),
  };
  return all;
}

const std::vector<LaterCommand>& later_commands() {
  static const std::vector<LaterCommand> all = {
      {"launch", "several processes are not in this version; use `cantilever train ...`"},
      {"embed", "use `cantilever search`, which embeds a split to rank it"},
  };
  return all;
}

const Command* find_command(const std::string& name) {
  for (const Command& command : commands()) {
    if (command.name == name) return &command;
  }
  return nullptr;
}

}  // namespace cantilever
