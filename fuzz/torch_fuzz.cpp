// pytorch_model.bin: the stored zip and the pickle inside.

#include "cantilever/io/weights.h"
#include "fuzz/fuzz.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto path = cantilever::fuzz::write_input("pytorch_model.bin", data, size);
  cantilever::fuzz::expect_error_or_success([&] {
    const auto file = cantilever::open_weights(path);
    for (const auto& tensor : file->tensors()) cantilever::fuzz::touch(tensor.data);
  });
  return 0;
}
