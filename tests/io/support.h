#pragma once

// What the tests of this room share: folders that vanish, bytes, caught errors, a small zip writer.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "cantilever/base/error.h"
#include "cantilever/io/tensor_view.h"

namespace cantilever::testing_io {

namespace fs = std::filesystem;

class TemporaryFolder {
 public:
  TemporaryFolder() {
    static std::atomic<int> counter{0};
    path_ = fs::temp_directory_path() / concat("cantilever-io-", ::getpid(), "-", counter++);
    fs::create_directories(path_);
  }
  ~TemporaryFolder() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  const fs::path& path() const { return path_; }
  // Writes a file and returns its path.
  fs::path file(const std::string& name, const std::string& content) const {
    std::ofstream out(path_ / name, std::ios::binary | std::ios::trunc);
    out << content;
    out.close();
    EXPECT_TRUE(out.good());
    return path_ / name;
  }

 private:
  fs::path path_;
};

inline std::string slurp(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  EXPECT_TRUE(in.good()) << path;
  return {std::istreambuf_iterator<char>(in), {}};
}

inline fs::path golden(const std::string& name) {
  return fs::path(CANTILEVER_TEST_ROOT) / "golden" / "io" / name;
}

// The message of the Error that `action` throws; a test failure when it throws none.
inline std::string error_of(const std::function<void()>& action) {
  try {
    action();
  } catch (const Error& error) {
    return error.what();
  }
  ADD_FAILURE() << "no Error was thrown";
  return {};
}

template <class T>
std::string raw(const T& value) {
  return {reinterpret_cast<const char*>(&value), sizeof value};
}

template <class T>
std::vector<T> values_of(const TensorView& tensor) {
  std::vector<T> values(tensor.data.size() / sizeof(T));
  if (!values.empty()) std::memcpy(values.data(), tensor.data.data(), tensor.data.size());
  return values;
}

inline std::string bytes_of(const TensorView& tensor) {
  return {reinterpret_cast<const char*>(tensor.data.data()), tensor.data.size()};
}

// Reads every byte of every tensor, so that a view outside its memory shows under a sanitizer.
inline uint64_t touch(const TensorView& tensor) {
  EXPECT_EQ(static_cast<uint64_t>(tensor.numel()) * byte_size(tensor.dtype), tensor.data.size());
  uint64_t sum = 0;
  for (const std::byte byte : tensor.data) sum += static_cast<uint64_t>(byte);
  return sum;
}

inline std::string safetensors_bytes(const std::string& header, const std::string& data = "") {
  return raw(uint64_t{header.size()}) + header + data;
}

struct ZipOptions {
  bool zip64 = false;   // sizes and offsets in zip64 fields, zip64 end records
  uint16_t method = 0;  // what the directory claims; data is stored all the same
  uint16_t flags = 0;
  std::string comment = {};
};

// A zip archive of stored records, as torch.save lays them out (without its padding).
inline std::string zip_bytes(const std::vector<std::pair<std::string, std::string>>& records,
                             const ZipOptions& options = {}) {
  std::string out;
  std::string directory;
  const auto size32 = [&](size_t n) {
    return options.zip64 ? 0xffffffffu : static_cast<uint32_t>(n);
  };
  for (const auto& [name, data] : records) {
    const uint64_t offset = out.size();
    const auto name_bytes = static_cast<uint16_t>(name.size());
    out += raw(uint32_t{0x04034b50}) + raw(uint16_t{0}) + raw(options.flags) + raw(options.method) +
           raw(uint32_t{0}) + raw(uint32_t{0}) + raw(static_cast<uint32_t>(data.size())) +
           raw(static_cast<uint32_t>(data.size())) + raw(name_bytes) + raw(uint16_t{0}) + name +
           data;
    const std::string extra = options.zip64 ? raw(uint16_t{1}) + raw(uint16_t{24}) +
                                                  raw(uint64_t{data.size()}) +
                                                  raw(uint64_t{data.size()}) + raw(offset)
                                            : "";
    directory += raw(uint32_t{0x02014b50}) + raw(uint16_t{0}) + raw(uint16_t{0}) +
                 raw(options.flags) + raw(options.method) + raw(uint32_t{0}) + raw(uint32_t{0}) +
                 raw(size32(data.size())) + raw(size32(data.size())) + raw(name_bytes) +
                 raw(static_cast<uint16_t>(extra.size())) + raw(uint16_t{0}) + raw(uint16_t{0}) +
                 raw(uint16_t{0}) + raw(uint32_t{0}) + raw(size32(offset)) + name + extra;
  }
  const uint64_t begin = out.size();
  out += directory;
  if (options.zip64) {
    const uint64_t end64 = out.size();
    out += raw(uint32_t{0x06064b50}) + raw(uint64_t{44}) + raw(uint16_t{45}) + raw(uint16_t{45}) +
           raw(uint32_t{0}) + raw(uint32_t{0}) + raw(uint64_t{records.size()}) +
           raw(uint64_t{records.size()}) + raw(uint64_t{directory.size()}) + raw(begin);
    out += raw(uint32_t{0x07064b50}) + raw(uint32_t{0}) + raw(end64) + raw(uint32_t{1});
  }
  const auto count = options.zip64 ? uint16_t{0xffff} : static_cast<uint16_t>(records.size());
  out += raw(uint32_t{0x06054b50}) + raw(uint16_t{0}) + raw(uint16_t{0}) + raw(count) + raw(count) +
         raw(size32(directory.size())) + raw(size32(begin)) +
         raw(static_cast<uint16_t>(options.comment.size())) + options.comment;
  return out;
}

}  // namespace cantilever::testing_io
