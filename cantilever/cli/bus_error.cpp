#include "cantilever/cli/bus_error.h"

#include <fcntl.h>
#include <unistd.h>

#include <csignal>
#include <cstdint>
#include <cstring>

namespace cantilever {
namespace {

// All below runs in the handler: no allocation, no locks, only calls that signal-safety(7) lists.

void write_text(const char* text, size_t size) {
  while (size > 0) {
    const ssize_t put = ::write(STDERR_FILENO, text, size);
    if (put <= 0) return;
    text += put;
    size -= static_cast<size_t>(put);
  }
}

void write_text(const char* text) {
  write_text(text, std::strlen(text));
}

// The number in hexadecimal at `at`, which moves behind it.
uint64_t hexadecimal(const char*& at) {
  uint64_t value = 0;
  for (;; ++at) {
    if (*at >= '0' && *at <= '9') {
      value = 16 * value + static_cast<uint64_t>(*at - '0');
    } else if (*at >= 'a' && *at <= 'f') {
      value = 16 * value + static_cast<uint64_t>(*at - 'a' + 10);
    } else {
      return value;
    }
  }
}

// The file of a line of /proc/self/maps ("begin-end rights offset device inode   /path") that
// covers `address`; null when it does not or has none.
const char* file_of_line(const char* line, uint64_t address) {
  const char* at = line;
  const uint64_t begin = hexadecimal(at);
  if (*at != '-') return nullptr;
  ++at;
  const uint64_t end = hexadecimal(at);
  return address >= begin && address < end ? std::strchr(at, '/') : nullptr;
}

// Fills `name` with the file that is mapped at `address`; false when there is none.
bool find_mapped_file(uint64_t address, char* name, size_t room) {
  const int maps = ::open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
  if (maps < 0) return false;
  char block[512];
  size_t length = 0;
  bool found = false;
  for (ssize_t got = 0; !found && (got = ::read(maps, block, sizeof block)) > 0;) {
    for (ssize_t i = 0; i < got && !found; ++i) {
      if (block[i] != '\n') {
        if (length + 1 < room) name[length++] = block[i];
        continue;
      }
      name[length] = '\0';
      length = 0;
      const char* file = file_of_line(name, address);
      if (file == nullptr) continue;
      std::memmove(name, file, std::strlen(file) + 1);
      found = true;
    }
  }
  ::close(maps);
  return found;
}

void on_bus_error(int number, siginfo_t* info, void* /*context*/) {
  char name[4096 + 128];
  const auto address = reinterpret_cast<uintptr_t>(info->si_addr);
  if (info->si_code == BUS_ADRERR && find_mapped_file(address, name, sizeof name)) {
    write_text("\ncantilever: error: ");
    write_text(name);
    write_text(
        ": the file became shorter while it was in use, or its disk does not give it any more; "
        "leave the files of a run alone until it has ended, then start it again (a training run "
        "goes on from its last checkpoint)\n");
    ::_exit(1);
  }
  std::signal(number, SIG_DFL);
  ::raise(number);
}

}  // namespace

void name_files_that_shrink() {
  struct sigaction action{};
  action.sa_sigaction = on_bus_error;
  action.sa_flags = SA_SIGINFO;
  ::sigemptyset(&action.sa_mask);
  ::sigaction(SIGBUS, &action, nullptr);
}

}  // namespace cantilever
