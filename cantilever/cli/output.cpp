#include "cantilever/cli/output.h"

#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "cantilever/base/error.h"
#include "cantilever/cli/flag.h"

namespace cantilever {
namespace {

void append_lines(const Json& value, size_t indent, std::string& out) {
  const std::string blank(indent, ' ');
  if (value.is_object()) {
    for (const auto& [key, member] : value.items()) {
      const bool nested = (member.is_object() || member.is_array()) && !member.empty();
      out += concat(blank, key, ":", nested ? "\n" : " ");
      if (nested) {
        append_lines(member, indent + 2, out);
      } else {
        out += member.is_object() || member.is_array() ? "none\n" : display_value(member) + "\n";
      }
    }
  } else {
    for (const Json& item : value) out += concat(blank, display_value(item), "\n");
  }
}

}  // namespace

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

void show_json(const Json& report, bool as_json) {
  std::string text;
  if (as_json) {
    text = dump_json(report, -1) + "\n";
  } else {
    append_lines(report, 0, text);
  }
  print(text);
}

}  // namespace cantilever
