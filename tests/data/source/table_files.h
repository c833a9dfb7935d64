#pragma once

// Small data sets written by the tests themselves.

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "cantilever/data/source/open_source.h"
#include "tests/support/temporary_folder.h"

namespace cantilever::test {

inline std::filesystem::path write_text(const std::filesystem::path& path,
                                        const std::string& content) {
  std::filesystem::create_directories(path.parent_path());
  std::ofstream(path, std::ios::binary) << content;
  return path;
}

inline SourceOptions source_options(const std::string& image_column = "image_path",
                                    const std::string& caption_column = "caption") {
  SourceOptions options;
  options.image_column = image_column;
  options.caption_column = caption_column;
  return options;
}

inline std::string picture_of(const Example& example) {
  return {reinterpret_cast<const char*>(example.encoded.data()), example.encoded.size()};
}

// The message of the Error that `function` throws; "" when it throws none.
template <class Function>
std::string error_of(const Function& function) {
  try {
    function();
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

}  // namespace cantilever::test
