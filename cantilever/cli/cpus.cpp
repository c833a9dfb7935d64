#include "cantilever/cli/cpus.h"

#include <ATen/Parallel.h>

#include <charconv>
#include <cstdlib>
#include <string_view>

namespace cantilever {
namespace {

// 0 when it is no number above 0 that an int holds easily.
int number_of_threads(std::string_view text) {
  int value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end != text.data() && value > 0 && value < (1 << 16) ? value : 0;
}

}  // namespace

int thread_count(const FlagValues& values) {
  if (const auto asked = values.optional<int>("threads"); asked && *asked > 0) return *asked;
  if (const char* text = std::getenv("OMP_NUM_THREADS")) {
    if (const int asked = number_of_threads(text); asked > 0) return asked;
  }
  return allowed_cpus();
}

int use_threads(const FlagValues& values) {
  const int threads = thread_count(values);
  at::set_num_threads(threads);
  return threads;
}

}  // namespace cantilever
