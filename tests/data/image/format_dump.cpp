// Decoded bytes of encoded ones over a pipe, for tools/parity/format_parity.py.
//
//   format_dump MAX_PIXELS [upright]
//
// Standard input: pictures, each as its length in a line and its bytes. Each is answered by a line
// "ok WIDTH HEIGHT FORMAT MODE ORIENTATION" and the bytes (height * width * 3), or by a line "error
// MESSAGE".

#include <cstddef>
#include <exception>
#include <iostream>
#include <string>
#include <vector>

#include "cantilever/base/error.h"
#include "cantilever/data/image/decode.h"

namespace {

using namespace cantilever;  // NOLINT(google-build-using-namespace)

std::string one_line(std::string text) {
  for (char& c : text) {
    if (c == '\n' || c == '\r') c = ' ';
  }
  return text;
}

void answer(const std::vector<std::byte>& encoded, const DecodeOptions& options) {
  try {
    const DecodedImage image = decode_image(encoded, options);
    std::cout << "ok " << image.width << ' ' << image.height << ' ' << image.format << ' '
              << image.mode << ' ' << image.exif_orientation << '\n';
    std::cout.write(reinterpret_cast<const char*>(image.pixels.data()),
                    static_cast<std::streamsize>(image.pixels.size()));
  } catch (const Error& error) {
    std::cout << "error " << one_line(error.what()) << '\n';
  }
  std::cout.flush();
}

int run(const std::vector<std::string>& arguments) {
  CANTILEVER_CHECK(arguments.size() == 1 || arguments.size() == 2,
                   "usage: format_dump MAX_PIXELS [upright]");
  DecodeOptions options;
  options.max_pixels = std::stoll(arguments[0]);
  options.apply_exif_orientation = arguments.size() == 2;
  std::string line;
  while (std::getline(std::cin, line)) {
    std::vector<std::byte> encoded(std::stoul(line));
    std::cin.read(reinterpret_cast<char*>(encoded.data()),
                  static_cast<std::streamsize>(encoded.size()));
    CANTILEVER_CHECK(static_cast<bool>(std::cin), "standard input ends early");
    answer(encoded, options);
  }
  return std::cout ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return run({argv + 1, argv + argc});
  } catch (const std::exception& error) {
    std::cerr << error.what() << '\n';
    return 1;
  }
}
