// Where an exception was thrown is gone when it is caught. For --debug the C++ runtime's
// __cxa_throw is wrapped: it notes the stack and goes on to the runtime's own.

#include <cxxabi.h>
#include <dlfcn.h>
#include <execinfo.h>

#include <array>
#include <atomic>
#include <cstdlib>
#include <memory>
#include <string>
#include <typeinfo>

#include "cantilever/cli/failure.h"

namespace cantilever {
namespace {

constexpr int kMaxFrames = 64;
std::atomic<bool> keeping{false};
thread_local std::array<void*, kMaxFrames> frames;
thread_local int frame_count = 0;

// "./cantilever(_ZN...+0x12) [0x...]" with the name in words.
std::string readable(const std::string& symbol) {
  const size_t open = symbol.find('(');
  const size_t plus = symbol.find('+', open);
  if (open == std::string::npos || plus == std::string::npos) return symbol;
  const std::string name = symbol.substr(open + 1, plus - open - 1);
  int status = 0;
  const std::unique_ptr<char, decltype(&std::free)> words(
      abi::__cxa_demangle(name.c_str(), nullptr, nullptr, &status), &std::free);
  if (status != 0) return symbol;
  return symbol.substr(0, open + 1) + words.get() + symbol.substr(plus);
}

}  // namespace

void keep_throw_stacks() {
  keeping = true;
}

std::string last_throw_stack() {
  if (frame_count == 0) return "";
  const std::unique_ptr<char*, decltype(&std::free)> symbols(
      ::backtrace_symbols(frames.data(), frame_count), &std::free);
  std::string out;
  // The first two frames are note() and the wrapper below.
  for (int i = 2; symbols && i < frame_count; ++i) out += "  " + readable(symbols.get()[i]) + "\n";
  return out;
}

namespace throw_stack {

[[gnu::noinline]] void note() {
  if (keeping) frame_count = ::backtrace(frames.data(), kMaxFrames);
}

}  // namespace throw_stack
}  // namespace cantilever

// The name stands in an assembler label: GCC has declared __cxa_throw itself by now, with other
// types.
extern "C" [[noreturn]] __attribute__((visibility("default"))) void cantilever_throw(
    void* thrown, std::type_info* type, void (*destructor)(void*)) __asm__("__cxa_throw");

extern "C" void cantilever_throw(void* thrown, std::type_info* type, void (*destructor)(void*)) {
  using Throw = void (*)(void*, std::type_info*, void (*)(void*));
  static const auto next = reinterpret_cast<Throw>(::dlsym(RTLD_NEXT, "__cxa_throw"));
  cantilever::throw_stack::note();
  next(thrown, type, destructor);
  std::abort();
}
