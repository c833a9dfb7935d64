#pragma once

namespace cantilever {

// While the object lives, SIGINT and SIGTERM only set a flag; the second one ends the process at
// once with 128 + signal. One object a process, made by the command that can save its work.
class StopSignal {
 public:
  StopSignal();
  ~StopSignal();
  StopSignal(const StopSignal&) = delete;
  StopSignal& operator=(const StopSignal&) = delete;

  // 0, SIGINT or SIGTERM.
  static int received();
};

}  // namespace cantilever
