#include "fuzz/fuzz.h"
#include "fuzz/read_rows.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  cantilever::fuzz::read_as_set(cantilever::fuzz::write_input("set.tar", data, size));
  return 0;
}
