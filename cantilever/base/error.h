#pragma once

// Two words for two failures: CANTILEVER_CHECK for what the user or a file did wrong (Error, exit
// status 1), CANTILEVER_ASSERT for what we did wrong (InternalError, a bug to report).
//
// A message names what failed, where (file, row, tensor, flag), the offending value, and what to
// do:
//   "model.safetensors: tensor 'a.weight' has dtype 'F7', which no safetensors reader knows; ..."

#include <sstream>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace cantilever {

// The work cannot be done for a reason outside the program: input, file system, memory.
class Error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// The command line is wrong: exit status 2.
class UsageError : public Error {
 public:
  using Error::Error;
};

// Our own mistake.
class InternalError : public std::logic_error {
 public:
  using std::logic_error::logic_error;
};

// All parts, written one after the other as operator<< does.
template <class... Parts>
std::string concat(const Parts&... parts) {
  std::ostringstream out;
  (out << ... << parts);
  return std::move(out).str();
}

// `value` cut to `limit` bytes and with control bytes shown as \xNN, in single quotes: safe to
// print whatever a file held.
std::string quoted(const std::string& value, size_t limit = 80);
// Where <iomanip> is visible std::quoted is found too and fits a non-const string better than the
// declaration above; its text would be neither cut nor escaped.
inline std::string quoted(std::string& value, size_t limit = 80) {
  return quoted(static_cast<const std::string&>(value), limit);
}

// Of `candidates`, the one with the smallest edit distance to `name` (at most a third of its
// length); empty when none is near.
std::string nearest_name(const std::string& name, const std::vector<std::string>& candidates);

[[noreturn]] void throw_error(const std::string& message);
[[noreturn]] void throw_internal_error(const char* file, int line, const char* condition,
                                       const std::string& message);

}  // namespace cantilever

#define CANTILEVER_CHECK(condition, ...)                            \
  do {                                                              \
    if (!(condition)) [[unlikely]]                                  \
      ::cantilever::throw_error(::cantilever::concat(__VA_ARGS__)); \
  } while (false)

#define CANTILEVER_ASSERT(condition, ...)                                                      \
  do {                                                                                         \
    if (!(condition)) [[unlikely]]                                                             \
      ::cantilever::throw_internal_error(__FILE__, __LINE__, #condition,                       \
                                         ::cantilever::concat("" __VA_OPT__(, ) __VA_ARGS__)); \
  } while (false)
