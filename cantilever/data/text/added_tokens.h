#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace cantilever {

// A string that is found in a text before it is cut into pieces and becomes one id.
struct AddedToken {
  int32_t id = 0;
  std::string content;
  bool lstrip = false;  // swallows the white space on its left
  bool rstrip = false;
  bool normalized = false;  // looked for in a second round
  bool special = true;
};

// Finds added tokens: the leftmost, of several at one place the longest; first the ones with
// normalized false in the whole text, then the others in what is left between.
class AddedTokenFinder {
 public:
  AddedTokenFinder() = default;
  explicit AddedTokenFinder(std::vector<AddedToken> tokens);
  AddedTokenFinder(const AddedTokenFinder&) = delete;  // the rounds point into tokens_
  AddedTokenFinder& operator=(const AddedTokenFinder&) = delete;
  AddedTokenFinder(AddedTokenFinder&&) = default;
  AddedTokenFinder& operator=(AddedTokenFinder&&) = default;

  const std::vector<AddedToken>& tokens() const { return tokens_; }

  // Calls on_text(std::string_view) for the stretches between and on_id(int32_t) for the tokens, in
  // order, until one of them returns false.
  template <class OnText, class OnId>
  void scan(std::string_view text, OnText&& on_text, OnId&& on_id) const {
    first_.scan(
        text,
        [&](std::string_view part) {
          if (second_.empty()) return on_text(part);
          return second_.scan(part, on_text, on_id);
        },
        on_id);
  }

 private:
  class Round {
   public:
    void add(const AddedToken* token);
    void sort();
    bool empty() const { return tokens_.empty(); }

    template <class OnText, class OnId>
    bool scan(std::string_view text, OnText&& on_text, OnId&& on_id) const {
      size_t done = 0;
      size_t at = 0;
      while (const AddedToken* token = find(text, &at)) {
        size_t end = at + token->content.size();
        size_t start = at;
        if (token->lstrip) start = strip_left(text, done, start);
        if (token->rstrip) end = strip_right(text, end);
        if (done < start && !on_text(text.substr(done, start - done))) return false;
        if (!on_id(token->id)) return false;
        at += token->content.size();
        done = end;
      }
      return done >= text.size() || on_text(text.substr(done));
    }

   private:
    // The next token at or behind *at; *at is set to its place.
    const AddedToken* find(std::string_view text, size_t* at) const;

    std::vector<const AddedToken*> tokens_;  // longest first
    std::array<bool, 256> starts_{};
    int only_start_ = -1;  // the first byte, when all tokens share it
  };

  static size_t strip_left(std::string_view text, size_t from, size_t start);
  static size_t strip_right(std::string_view text, size_t end);

  std::vector<AddedToken> tokens_;
  Round first_;
  Round second_;
};

}  // namespace cantilever
