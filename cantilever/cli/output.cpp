#include "cantilever/cli/output.h"

#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "cantilever/base/error.h"

namespace cantilever {

void print(std::string_view text) {
  static bool reader_gone = false;
  while (!text.empty() && !reader_gone) {
    const ssize_t put = ::write(STDOUT_FILENO, text.data(), text.size());
    if (put >= 0) {
      text.remove_prefix(static_cast<size_t>(put));
    } else if (errno == EPIPE || errno == EBADF) {
      reader_gone = true;
    } else if (errno != EINTR) {
      throw_error(concat("cannot write to standard output: ", std::strerror(errno)));
    }
  }
}

}  // namespace cantilever
