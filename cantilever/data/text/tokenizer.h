#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace cantilever {

// RoBERTa's byte-level BPE with its special tokens <s> </s>, equal to the `tokenizers` library:
// special-token strings inside a text are recognised, invalid UTF-8 becomes U+FFFD. Immutable after
// loading; encode functions may be called by several threads at once.
class Tokenizer {
 public:
  // From a model folder: tokenizer.json, or vocab.json + merges.txt (then <mask> strips blanks on
  // its left, as in the published files). Throws Error with file and place.
  static std::shared_ptr<const Tokenizer> from_folder(const std::filesystem::path& folder);
  ~Tokenizer();

  // <s> text </s>, cut to max_length ids (0: never cut; then *truncated says whether it was).
  std::vector<int32_t> encode(std::string_view text, int64_t max_length = 0,
                              bool* truncated = nullptr) const;
  // The same, written in place: ids and mask are padded to the length of `ids` with pad_id and 0.
  // Returns the number of real ids.
  int64_t encode_into(std::string_view text, std::span<int64_t> ids, std::span<int64_t> mask) const;

  std::string piece(int32_t id) const;  // as vocab.json spells it; "" when there is none
  int64_t vocab_size() const;           // largest id + 1
  int32_t pad_id() const;
  int32_t bos_id() const;
  int32_t eos_id() const;

  // Writes what Transformers 5.24 and 4.x load: tokenizer.json (with truncation and padding set to
  // max_length when > 0, as a training run of the reference leaves it), tokenizer_config.json,
  // vocab.json, merges.txt, special_tokens_map.json.
  void save(const std::filesystem::path& folder, int64_t max_length = 0) const;

  struct State;
  explicit Tokenizer(std::unique_ptr<State> state);

 private:
  std::unique_ptr<State> state_;
};

}  // namespace cantilever
