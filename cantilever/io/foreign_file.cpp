#include "cantilever/io/foreign_file.h"

#include <algorithm>
#include <cctype>
#include <cstdint>
#include <cstring>
#include <string_view>

#include "cantilever/base/error.h"
#include "cantilever/base/file.h"

namespace cantilever {
namespace {

using namespace std::string_view_literals;

struct Magic {
  std::string_view bytes;
  const char* description;
};

// The first entries must be the longer ones where one is the beginning of another.
constexpr Magic kMagics[] = {
    {"PK\x03\x04"sv,
     "this looks like a PyTorch .bin/.pt file (a zip archive), not what its name says"},
    // torch.save's magic number 0x1950a86a20f9469cfc6c as a protocol 2 pickle.
    {"\x80\x02\x8a\x0a\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19."sv,
     "this is a file of torch.save's old format (before PyTorch 1.6, not a zip archive); load it "
     "in "
     "PyTorch and save it again"},
    {"\x80\x02"sv, "this looks like a bare Python pickle, which is not read here"},
    {"\x80\x03"sv, "this looks like a bare Python pickle, which is not read here"},
    {"\x80\x04"sv, "this looks like a bare Python pickle, which is not read here"},
    {"\x80\x05"sv, "this looks like a bare Python pickle, which is not read here"},
    {"\x1f\x8b"sv, "this is gzip-compressed; unpack it first"},
    {"\x89HDF\r\n\x1a\n"sv, "this is an HDF5 file (TensorFlow or Keras weights?)"},
    {"GGUF"sv, "this is a GGUF file (llama.cpp weights)"},
};

std::string lower_start(std::string_view text) {
  while (!text.empty() && std::isspace(static_cast<unsigned char>(text.front()))) {
    text.remove_prefix(1);
  }
  std::string out(text.substr(0, 16));
  for (char& c : out) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return out;
}

bool looks_like_safetensors(std::string_view text) {
  if (text.size() < 10 || text[8] != '{') return false;
  uint64_t length = 0;
  std::memcpy(&length, text.data(), sizeof length);
  return length >= 2 && length <= text.size() - 8;
}

}  // namespace

std::string describe_foreign_file(std::span<const std::byte> content) {
  if (std::string pointer = describe_lfs_pointer(content); !pointer.empty()) return pointer;
  const std::string_view text(reinterpret_cast<const char*>(content.data()), content.size());
  for (const Magic& magic : kMagics) {
    if (text.starts_with(magic.bytes)) return magic.description;
  }
  if (looks_like_safetensors(text)) return "this looks like a safetensors file";
  const std::string start = lower_start(text.substr(0, 64));
  if (start.starts_with("<!doctype") || start.starts_with("<html") || start.starts_with("<?xml")) {
    return concat("this is an HTML or XML page of ", content.size(),
                  " bytes (a log-in or error page saved by a download?), not the data");
  }
  if (start.starts_with("{") || start.starts_with("[")) {
    return concat("this is JSON text of ", content.size(),
                  " bytes (an error message saved by a download?), not the data");
  }
  return {};
}

}  // namespace cantilever
