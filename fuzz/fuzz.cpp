#include "fuzz/fuzz.h"

#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string>

#include "cantilever/base/error.h"
#include "cantilever/base/log.h"

namespace cantilever::fuzz {
namespace {

namespace fs = std::filesystem;

struct Folder {
  Folder() : path(fs::temp_directory_path() / ("cantilever-fuzz-" + std::to_string(::getpid()))) {
    fs::create_directories(path);
  }
  ~Folder() {
    std::error_code ignored;
    fs::remove_all(path, ignored);
  }
  fs::path path;
};

[[noreturn]] void report(const char* kind, const char* what) {
  std::fprintf(stderr, "fuzz: %s: %s\n", kind, what);
  std::abort();
}

}  // namespace

void touch(std::span<const std::byte> bytes) {
  unsigned sum = 0;
  for (const std::byte byte : bytes) sum += std::to_integer<unsigned>(byte);
  static volatile unsigned sink;
  sink = sum;
}

void expect_error_or_success(const std::function<void()>& work) {
  // Warnings about hostile files are not what is looked for here.
  static const bool kQuiet = [] {
    set_log_level(LogLevel::kError);
    return true;
  }();
  static_cast<void>(kQuiet);
  try {
    work();
  } catch (const Error& error) {
    if (error.what()[0] == '\0') report("an Error without a message", "");
  } catch (const std::exception& error) {
    report("an exception that is no Error", error.what());
  }
}

fs::path write_input(const char* name, const uint8_t* data, size_t size) {
  static const Folder folder;
  fs::path path = folder.path / name;
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  file.write(reinterpret_cast<const char*>(data), static_cast<std::streamsize>(size));
  return path;
}

}  // namespace cantilever::fuzz
