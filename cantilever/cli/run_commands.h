#pragma once

#include "cantilever/cli/command.h"

namespace cantilever {

// One file each.
Command train_command();
Command init_command();
Command search_command();
Command inspect_command();
Command verify_command();
Command info_command();
Command bench_command();

}  // namespace cantilever
