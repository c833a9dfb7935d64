#include "cantilever/io/safetensors.h"
#include "fuzz/fuzz.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto path = cantilever::fuzz::write_input("model.safetensors", data, size);
  cantilever::fuzz::expect_error_or_success([&] {
    const auto file = cantilever::open_safetensors(path);
    for (const auto& tensor : file->tensors()) cantilever::fuzz::touch(tensor.data);
  });
  return 0;
}
