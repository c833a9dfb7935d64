#include "cantilever/data/text/tokenizer.h"
#include "fuzz/fuzz.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto folder = cantilever::fuzz::write_input("tokenizer.json", data, size).parent_path();
  cantilever::fuzz::expect_error_or_success([&] {
    const auto tokenizer = cantilever::Tokenizer::from_folder(folder);
    for (const char* text : {"a picture of </s> two <mask> dogs", " \xff\xe2\x82 \n\n 12's", ""}) {
      for (const int32_t id : tokenizer->encode(text, 16)) tokenizer->piece(id);
    }
  });
  return 0;
}
