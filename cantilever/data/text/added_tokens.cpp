#include "cantilever/data/text/added_tokens.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "cantilever/data/text/unicode_class.h"
#include "cantilever/data/text/utf8.h"

namespace cantilever {
namespace {

bool is_white_space(const char* p, const char** after) {
  return UnicodeTable::get()(decode_utf8(p, after)) == UnicodeClass::kSpace;
}

bool is_continuation(char byte) {
  return (static_cast<unsigned char>(byte) & 0xC0) == 0x80;
}

}  // namespace

AddedTokenFinder::AddedTokenFinder(std::vector<AddedToken> tokens) : tokens_(std::move(tokens)) {
  for (const AddedToken& token : tokens_) (token.normalized ? second_ : first_).add(&token);
  first_.sort();
  second_.sort();
}

void AddedTokenFinder::Round::add(const AddedToken* token) {
  const int start = static_cast<unsigned char>(token->content[0]);
  only_start_ = tokens_.empty() || only_start_ == start ? start : -1;
  starts_[static_cast<size_t>(start)] = true;
  tokens_.push_back(token);
}

void AddedTokenFinder::Round::sort() {
  std::stable_sort(tokens_.begin(), tokens_.end(), [](const AddedToken* a, const AddedToken* b) {
    return a->content.size() > b->content.size();
  });
}

const AddedToken* AddedTokenFinder::Round::find(std::string_view text, size_t* at) const {
  if (tokens_.empty()) return nullptr;
  for (size_t i = *at; i < text.size(); ++i) {
    if (only_start_ >= 0) {
      const void* next = std::memchr(text.data() + i, only_start_, text.size() - i);
      if (next == nullptr) return nullptr;
      i = static_cast<size_t>(static_cast<const char*>(next) - text.data());
    } else if (!starts_[static_cast<unsigned char>(text[i])]) {
      continue;
    }
    for (const AddedToken* token : tokens_) {
      if (text.compare(i, token->content.size(), token->content) == 0) {
        *at = i;
        return token;
      }
    }
  }
  return nullptr;
}

size_t AddedTokenFinder::strip_left(std::string_view text, size_t from, size_t start) {
  while (start > from) {
    size_t before = start - 1;
    while (before > from && is_continuation(text[before])) --before;
    const char* after = nullptr;
    if (!is_white_space(text.data() + before, &after)) break;
    start = before;
  }
  return start;
}

size_t AddedTokenFinder::strip_right(std::string_view text, size_t end) {
  while (end < text.size()) {
    const char* after = nullptr;
    if (!is_white_space(text.data() + end, &after)) break;
    end = static_cast<size_t>(after - text.data());
  }
  return end;
}

}  // namespace cantilever
