// Decoded bytes and transformed pixels of many files over a pipe, for tools/parity/pixel_parity.py.
//
//   pixel_dump decode [upright]            reads one path a line from standard input
//   pixel_dump transform SIDE SEMANTICS    SEMANTICS: tv-float-aa or tv-u8
//
// Each path is answered by a line "ok WIDTH HEIGHT FORMAT MODE ORIENTATION" and the bytes
// (height * width * 3, or 3 * SIDE * SIDE float32), or by a line "error MESSAGE".

#include <cstdio>
#include <exception>
#include <iostream>
#include <string>
#include <vector>

#include "cantilever/base/error.h"
#include "cantilever/base/file.h"
#include "cantilever/data/image/decode.h"
#include "cantilever/data/image/transform.h"

namespace {

using namespace cantilever;  // NOLINT(google-build-using-namespace)

std::string one_line(std::string text) {
  for (char& c : text) {
    if (c == '\n' || c == '\r') c = ' ';
  }
  return text;
}

void answer(const DecodedImage& image, const void* payload, size_t bytes) {
  std::cout << "ok " << image.width << ' ' << image.height << ' ' << image.format << ' '
            << image.mode << ' ' << image.exif_orientation << '\n';
  std::cout.write(static_cast<const char*>(payload), static_cast<std::streamsize>(bytes));
}

int run(const std::vector<std::string>& arguments) {
  const bool transforms = arguments.size() == 3 && arguments[0] == "transform";
  CANTILEVER_CHECK(transforms || (!arguments.empty() && arguments[0] == "decode"),
                   "usage: pixel_dump decode [upright] | transform SIDE SEMANTICS");
  DecodeOptions decoding;
  decoding.apply_exif_orientation = !transforms && arguments.size() == 2;
  TransformOptions options;
  TransformScratch scratch;
  std::vector<float> out;
  if (transforms) {
    options.side = std::stoi(arguments[1]);
    options.semantics = parse_pixel_semantics(arguments[2]);
    out.resize(static_cast<size_t>(options.side) * static_cast<size_t>(options.side) * 3);
  }
  std::string path;
  while (std::getline(std::cin, path)) {
    try {
      const MappedFile file(path);
      const DecodedImage image = decode_image(file.bytes(), decoding);
      if (transforms) {
        transform_image(image.view(), options, scratch, out);
        answer(image, out.data(), out.size() * sizeof(float));
      } else {
        answer(image, image.pixels.data(), image.pixels.size());
      }
    } catch (const Error& error) {
      std::cout << "error " << one_line(error.what()) << '\n';
    }
  }
  std::cout.flush();
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
