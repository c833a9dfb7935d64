#include "cantilever/data/text/unicode_class.h"

#include <algorithm>
#include <map>
#include <span>

namespace cantilever {
namespace {

struct CodeRange {
  uint32_t first;
  uint32_t last;
};

#include "cantilever/data/text/unicode_ranges.inc"

void mark(std::vector<UnicodeClass>& classes, std::span<const CodeRange> ranges,
          UnicodeClass value) {
  for (const CodeRange& range : ranges) {
    std::fill(classes.begin() + range.first, classes.begin() + range.last + 1, value);
  }
}

}  // namespace

UnicodeTable::UnicodeTable() {
  std::vector<UnicodeClass> classes(kCodes, UnicodeClass::kOther);
  mark(classes, kLetterRanges, UnicodeClass::kLetter);
  mark(classes, kNumberRanges, UnicodeClass::kNumber);
  mark(classes, kSpaceRanges, UnicodeClass::kSpace);
  std::map<std::vector<UnicodeClass>, uint16_t> known;
  for (uint32_t page = 0; page < page_of_.size(); ++page) {
    const auto begin = classes.begin() + page * kPageSize;
    const std::vector<UnicodeClass> content(begin, begin + kPageSize);
    const auto [entry, is_new] = known.try_emplace(content, static_cast<uint16_t>(known.size()));
    if (is_new) pages_.insert(pages_.end(), content.begin(), content.end());
    page_of_[page] = entry->second;
  }
}

const UnicodeTable& UnicodeTable::get() {
  static const UnicodeTable table;
  return table;
}

}  // namespace cantilever
