#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <span>

namespace cantilever::fuzz {

// Bytes of an input as the rooms take them.
inline std::span<const std::byte> bytes_of(const uint8_t* data, size_t size) {
  return {reinterpret_cast<const std::byte*>(data), size};
}

// Reads every byte: a view that leads out of its file is found here.
void touch(std::span<const std::byte> bytes);

// Runs `work`. An Error is what a bad input deserves; anything else that is thrown is a finding and
// ends the process, and so does an Error without a message.
void expect_error_or_success(const std::function<void()>& work);

// A file of this process that holds the input, called `name`; written anew each time. The folder is
// removed when the process ends.
std::filesystem::path write_input(const char* name, const uint8_t* data, size_t size);

}  // namespace cantilever::fuzz
