#pragma once

namespace cantilever {

// The whole program: parses, runs a command, prints errors. Exit status: 0 done, 1 the work failed,
// 2 wrong usage, 130/143 stopped by a signal after a checkpoint was written.
int run_main(int argc, char** argv);

}  // namespace cantilever
