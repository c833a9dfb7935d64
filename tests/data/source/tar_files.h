#pragma once

// Tar archives written by the tests themselves, byte by byte.

#include <cstdio>
#include <string>
#include <string_view>
#include <vector>

namespace cantilever::test {

enum class TarStyle { kUstar, kGnu, kV7 };

inline std::string octal(uint64_t value, size_t width) {
  std::string digits(width, '0');
  for (size_t i = width; i-- > 0; value /= 8) digits[i] = static_cast<char>('0' + value % 8);
  return digits;
}

inline void set_checksum(std::string& block) {
  block.replace(148, 8, "        ");
  uint64_t sum = 0;
  for (const char byte : block) sum += static_cast<unsigned char>(byte);
  block.replace(148, 8, octal(sum, 6) + std::string("\0 ", 2));
}

// One header block. `size` from 8 GiB is written big-endian, as GNU does.
inline std::string tar_header(const std::string& name, uint64_t size, char type = '0',
                              TarStyle style = TarStyle::kUstar, const std::string& link = "",
                              const std::string& prefix = "") {
  std::string block(512, '\0');
  const auto put = [&](size_t at, const std::string& text) {
    block.replace(at, text.size(), text);
  };
  put(0, name.substr(0, 100));
  put(100, "0000644");
  put(108, "0000000");
  put(116, "0000000");
  if (size < uint64_t{1} << 33) {
    put(124, octal(size, 11));
  } else {
    block[124] = static_cast<char>(0x80);
    for (size_t i = 0; i < 8; ++i) block[135 - i] = static_cast<char>(size >> (8 * i) & 0xFF);
  }
  put(136, octal(0, 11));
  block[156] = style == TarStyle::kV7 && type == '0' ? '\0' : type;
  put(157, link);
  if (style == TarStyle::kUstar)
    put(257, std::string("ustar\0"
                         "00",
                         8));
  if (style == TarStyle::kGnu) put(257, std::string("ustar  \0", 8));
  put(345, prefix);
  set_checksum(block);
  return block;
}

inline std::string padded(std::string data) {
  data.resize((data.size() + 511) / 512 * 512);
  return data;
}

inline std::string tar_member(const std::string& name, const std::string& data,
                              TarStyle style = TarStyle::kUstar) {
  return tar_header(name, data.size(), '0', style) + padded(data);
}

inline std::string pax_record(const std::string& key, const std::string& value) {
  const std::string rest = " " + key + "=" + value + "\n";
  size_t length = rest.size() + 1;
  while (std::to_string(length).size() + rest.size() != length) ++length;
  return std::to_string(length) + rest;
}

inline std::string pax_header(const std::string& records) {
  return tar_header("PaxHeaders/x", records.size(), 'x') + padded(records);
}

inline std::string tar_end() {
  return std::string(1024, '\0');
}

}  // namespace cantilever::test
