#pragma once

#include <exception>
#include <string>

namespace cantilever {

// What is printed for an exception, and with which exit status.
struct Failure {
  std::string message;  // one line, without "cantilever: error: "
  std::string type;     // of the exception, for --debug
  std::string stack;    // where it was thrown, when known; several lines
  int exit_status = 1;
};

// Any exception as a named one-line error with a remedy: our own as they are, out of memory, what
// LibTorch throws (without its stack), file system errors, and everything else as a bug to report.
Failure describe_failure(std::exception_ptr exception);

// Line breaks and runs of blanks become one blank, other control bytes \xNN.
std::string one_line(const std::string& text);

// From now on the stack of every thrown exception is kept (--debug).
void keep_throw_stacks();
// The stack of the last exception thrown in this thread; "" when none was kept.
std::string last_throw_stack();

}  // namespace cantilever
