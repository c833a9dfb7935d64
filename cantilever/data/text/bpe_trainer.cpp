#include "cantilever/data/text/bpe_trainer.h"

#include <algorithm>
#include <map>
#include <unordered_map>
#include <utility>
#include <vector>

#include "cantilever/base/error.h"
#include "cantilever/data/text/byte_alphabet.h"
#include "cantilever/data/text/split_pattern.h"
#include "cantilever/data/text/tokenizer_state.h"
#include "cantilever/data/text/utf8.h"

namespace cantilever {
namespace {

using Pair = std::pair<int32_t, int32_t>;

struct PairHash {
  size_t operator()(const Pair& pair) const {
    const uint64_t key = static_cast<uint64_t>(static_cast<uint32_t>(pair.first)) << 32 |
                         static_cast<uint32_t>(pair.second);
    return static_cast<size_t>((key * 0x9E3779B97F4A7C15U) >> 16);
  }
};

// A pair, the count that it had when it was queued and the words that held it then.
struct Candidate {
  int64_t count;
  Pair pair;
  std::vector<uint32_t> words;
};

// The heap's order: most frequent first, of equals the pair with the smaller ids.
bool worse(const Candidate& a, const Candidate& b) {
  return a.count != b.count ? a.count < b.count : a.pair > b.pair;
}

// The algorithm of tokenizers' BpeTrainer, quirks included: counts of the pair that is being merged
// are not lowered, and a count that has become stale is put right when its pair comes up.
class Learner {
 public:
  explicit Learner(const std::vector<std::string>& specials) {
    for (const std::string& special : specials) add_piece(special);
    for (const uint8_t byte : ByteAlphabet::get().by_code_point) {
      byte_ids_[byte] = add_piece(ByteAlphabet::get().spelling[byte]);
    }
  }

  void learn(const std::map<std::string, int64_t>& word_counts, size_t vocab_size) {
    for (const auto& [word, count] : word_counts) add_word(word, count);
    flush_queue();
    while (ids_.size() < vocab_size && !queue_.empty()) {
      std::pop_heap(queue_.begin(), queue_.end(), worse);
      Candidate top = std::move(queue_.back());
      queue_.pop_back();
      const int64_t count = counts_[top.pair];
      if (top.count != count) {
        top.count = count;
        if (count > 0) push(std::move(top));
        continue;
      }
      merge(top);
    }
  }

  TokenizerParts take_parts() {
    TokenizerParts parts;
    for (size_t id = 0; id < pieces_.size(); ++id) {
      parts.vocab.emplace_back(pieces_[id], static_cast<int64_t>(id));
    }
    parts.merges = std::move(merges_);
    return parts;
  }

 private:
  int32_t add_piece(const std::string& piece) {
    const auto [entry, is_new] = ids_.try_emplace(piece, static_cast<int32_t>(pieces_.size()));
    if (is_new) pieces_.push_back(piece);
    return entry->second;
  }

  void add_word(const std::string& word, int64_t count) {
    std::vector<int32_t> symbols;
    for (const char byte : word) symbols.push_back(byte_ids_[static_cast<unsigned char>(byte)]);
    const auto index = static_cast<uint32_t>(words_.size());
    for (size_t i = 0; i + 1 < symbols.size(); ++i) {
      change({symbols[i], symbols[i + 1]}, count, index);
    }
    words_.push_back(std::move(symbols));
    word_counts_.push_back(count);
  }

  // Words come in rising order, so the last place tells whether this one is there already.
  void change(Pair pair, int64_t count, uint32_t word) {
    counts_[pair] += count;
    if (count <= 0) return;
    std::vector<uint32_t>& places = touched_[pair];
    if (places.empty() || places.back() != word) places.push_back(word);
  }

  void push(Candidate candidate) {
    queue_.push_back(std::move(candidate));
    std::push_heap(queue_.begin(), queue_.end(), worse);
  }

  void flush_queue() {
    for (auto& [pair, words] : touched_) {
      const int64_t count = counts_[pair];
      if (count > 0) push({count, pair, std::move(words)});
    }
    touched_.clear();
  }

  void merge(const Candidate& top) {
    const std::string& left = pieces_[static_cast<size_t>(top.pair.first)];
    const std::string& right = pieces_[static_cast<size_t>(top.pair.second)];
    merges_.emplace_back(left, right);
    const int32_t result = add_piece(left + right);
    for (const uint32_t word : top.words) merge_in_word(top.pair, result, word);
    flush_queue();
  }

  void merge_in_word(Pair pair, int32_t result, uint32_t word) {
    std::vector<int32_t>& symbols = words_[word];
    const int64_t count = word_counts_[word];
    size_t written = 0;
    for (size_t i = 0; i < symbols.size(); ++i) {
      const bool here =
          symbols[i] == pair.first && i + 1 < symbols.size() && symbols[i + 1] == pair.second;
      if (!here) {
        symbols[written++] = symbols[i];
        continue;
      }
      if (written > 0) {
        change({symbols[written - 1], pair.first}, -count, word);
        change({symbols[written - 1], result}, count, word);
      }
      if (i + 2 < symbols.size()) {
        change({pair.second, symbols[i + 2]}, -count, word);
        change({result, symbols[i + 2]}, count, word);
      }
      symbols[written++] = result;
      ++i;
    }
    symbols.resize(written);
  }

  std::unordered_map<std::string, int32_t> ids_;
  std::vector<std::string> pieces_;
  std::array<int32_t, 256> byte_ids_{};
  std::vector<std::pair<std::string, std::string>> merges_;
  std::vector<std::vector<int32_t>> words_;
  std::vector<int64_t> word_counts_;
  std::unordered_map<Pair, int64_t, PairHash> counts_;
  std::unordered_map<Pair, std::vector<uint32_t>, PairHash> touched_;
  std::vector<Candidate> queue_;
};

// Special tokens in a caption are text here, as in the library.
std::map<std::string, int64_t> count_words(
    const std::function<std::optional<std::string>()>& next) {
  const PieceSplitter splitter;
  std::map<std::string, int64_t> counts;
  while (std::optional<std::string> caption = next()) {
    if (valid_utf8_prefix(*caption) != caption->size()) caption = repair_utf8(*caption);
    const char* p = caption->data();
    const char* const end = p + caption->size();
    while (p != end) {
      const char* const after = splitter.next(p, end);
      ++counts[std::string(p, after)];
      p = after;
    }
  }
  return counts;
}

}  // namespace

std::shared_ptr<const Tokenizer> train_tokenizer(
    const std::function<std::optional<std::string>()>& next, int64_t vocab_size) {
  const std::vector<std::string> specials = {"<s>", "<pad>", "</s>", "<unk>"};
  const auto smallest = static_cast<int64_t>(specials.size()) + 256 + 1;
  CANTILEVER_CHECK(vocab_size >= smallest, "a vocabulary of ", vocab_size,
                   " pieces has no room for the 256 bytes and 5 special tokens; ask for at least ",
                   smallest);
  Learner learner(specials);
  learner.learn(count_words(next), static_cast<size_t>(vocab_size) - 1);
  TokenizerParts parts = learner.take_parts();
  parts.where = "learned vocabulary";
  parts.vocab.emplace_back("<mask>", static_cast<int64_t>(parts.vocab.size()));
  return std::make_shared<const Tokenizer>(build_state(std::move(parts)));
}

}  // namespace cantilever
