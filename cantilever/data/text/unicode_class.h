#pragma once

#include <array>
#include <cstdint>
#include <vector>

namespace cantilever {

// The four classes of the GPT-2 pattern: \p{L}, \p{N}, \s and the rest.
enum class UnicodeClass : uint8_t { kOther, kLetter, kNumber, kSpace };

// Class of every code point, in two levels: 4,352 page numbers and the distinct pages of 256
// classes, 43 kB in all. Built once from unicode_ranges.inc.
class UnicodeTable {
 public:
  static const UnicodeTable& get();

  // code is at most U+10FFFF.
  UnicodeClass operator()(uint32_t code) const {
    return pages_[page_of_[code >> kPageBits] << kPageBits | (code & (kPageSize - 1))];
  }

 private:
  static constexpr uint32_t kPageBits = 8;
  static constexpr uint32_t kPageSize = 1U << kPageBits;
  static constexpr uint32_t kCodes = 0x110000;

  UnicodeTable();

  std::array<uint16_t, (kCodes >> kPageBits)> page_of_{};
  std::vector<UnicodeClass> pages_;
};

}  // namespace cantilever
