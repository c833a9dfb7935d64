#include "cantilever/data/text/tokenizer.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <span>
#include <utility>

#include "cantilever/base/error.h"
#include "cantilever/data/text/byte_alphabet.h"
#include "cantilever/data/text/tokenizer_files.h"
#include "cantilever/data/text/tokenizer_state.h"
#include "cantilever/data/text/utf8.h"
#include "cantilever/data/text/word_cache.h"

namespace cantilever {
namespace {

// Grows and is never cleared to its memory: a write of all places of a cache entry costs less than
// a loop over the used ones.
class IdBuffer {
 public:
  void clear() { size_ = 0; }
  size_t size() const { return size_; }
  size_t capacity() const { return storage_.capacity(); }
  void shrink_to(size_t size) { size_ = std::min(size_, size); }
  std::span<const int32_t> ids() const { return {storage_.data(), size_}; }

  void add(int32_t id) {
    make_room(1);
    storage_[size_++] = id;
  }
  void add(std::span<const int32_t> ids) {
    make_room(ids.size());
    std::copy(ids.begin(), ids.end(), storage_.begin() + static_cast<ptrdiff_t>(size_));
    size_ += ids.size();
  }
  void add(const WordCache::Entry& entry) {
    make_room(WordCache::kMaxIds);
    std::memcpy(storage_.data() + size_, entry.ids, sizeof(entry.ids));
    size_ += entry.count;
  }

 private:
  void make_room(size_t count) {
    if (size_ + count > storage_.size()) [[unlikely]] {
      storage_.resize(std::max(storage_.size() * 2, size_ + count + 256));
    }
  }

  std::vector<int32_t> storage_;
  size_t size_ = 0;
};

// What one thread keeps between calls, for all tokenizers.
struct Scratch {
  WordCache cache;
  BpeScratch bpe;
  IdBuffer out;
  std::vector<int32_t> piece_ids;
  std::string with_prefix;

  // A caption of megabytes must not hold its memory for the rest of the run.
  void trim() {
    constexpr size_t kKeep = size_t{1} << 16;
    if (bpe.symbols.capacity() > kKeep || bpe.queue.capacity() > kKeep) bpe = BpeScratch{};
    if (out.capacity() > kKeep) out = IdBuffer{};
    if (piece_ids.capacity() > kKeep) piece_ids = std::vector<int32_t>{};
    if (with_prefix.capacity() > kKeep) with_prefix = std::string{};
  }
};

Scratch& thread_scratch() {
  thread_local Scratch scratch;
  return scratch;
}

class Encoder {
 public:
  // Ends soon after `limit` ids.
  Encoder(const Tokenizer::State& state, size_t limit)
      : state_(state), scratch_(thread_scratch()), limit_(limit) {}

  // The ids between the special tokens; *truncated says whether there were more than the limit.
  std::span<const int32_t> run(std::string_view text, bool* truncated) {
    IdBuffer& out = scratch_.out;
    out.clear();
    std::string repaired;
    if (valid_utf8_prefix(text) != text.size()) {
      repaired = repair_utf8(text);
      text = repaired;
    }
    state_.added.scan(
        text, [this](std::string_view part) { return stretch(part); },
        [this, &out](int32_t id) {
          out.add(id);
          return out.size() <= limit_;
        });
    *truncated = out.size() > limit_;
    out.shrink_to(limit_);
    return out.ids();
  }

  ~Encoder() { scratch_.trim(); }
  Encoder(const Encoder&) = delete;
  Encoder& operator=(const Encoder&) = delete;

 private:
  bool stretch(std::string_view part) {
    if (state_.add_prefix_space && part.front() != ' ') {
      scratch_.with_prefix.assign(1, ' ');
      scratch_.with_prefix += part;
      part = scratch_.with_prefix;
    }
    const char* p = part.data();
    const char* const end = p + part.size();
    while (p != end) {
      const char* const next = state_.splitter.next(p, end);
      add_piece({p, static_cast<size_t>(next - p)}, static_cast<size_t>(end - p));
      if (scratch_.out.size() > limit_) return false;
      p = next;
    }
    return true;
  }

  void add_piece(std::string_view piece, size_t readable) {
    if (piece.size() > WordCache::kMaxBytes) {
      compute(piece);
      scratch_.out.add(std::span<const int32_t>(scratch_.piece_ids));
      return;
    }
    const WordCache::Key key = WordCache::make_key(piece, readable, state_.owner);
    if (const WordCache::Entry* entry = scratch_.cache.find(key)) [[likely]] {
      scratch_.out.add(*entry);
      return;
    }
    compute(piece);
    scratch_.out.add(std::span<const int32_t>(scratch_.piece_ids));
    if (scratch_.piece_ids.size() <= WordCache::kMaxIds) {
      scratch_.cache.insert(key, scratch_.piece_ids);
    }
  }

  void compute(std::string_view piece) {
    scratch_.piece_ids.clear();
    if (state_.ignore_merges) {
      const auto whole = state_.ids.find(spell_bytes(piece));
      if (whole != state_.ids.end()) {
        scratch_.piece_ids.push_back(whole->second);
        return;
      }
    }
    state_.model.encode(piece, scratch_.bpe, scratch_.piece_ids);
  }

  const Tokenizer::State& state_;
  Scratch& scratch_;
  size_t limit_;
};

constexpr int64_t kSpecials = 2;  // <s> and </s>

size_t piece_limit(int64_t max_length) {
  CANTILEVER_CHECK(max_length >= kSpecials, "a text of at most ", max_length,
                   " tokens has no room for the two special ones; give at least ", kSpecials);
  return static_cast<size_t>(max_length - kSpecials);
}

}  // namespace

Tokenizer::Tokenizer(std::unique_ptr<State> state) : state_(std::move(state)) {}
Tokenizer::~Tokenizer() = default;

std::shared_ptr<const Tokenizer> Tokenizer::from_folder(const std::filesystem::path& folder) {
  return std::make_shared<const Tokenizer>(build_state(read_tokenizer_files(folder)));
}

std::vector<int32_t> Tokenizer::encode(std::string_view text, int64_t max_length,
                                       bool* truncated) const {
  constexpr size_t kNoLimit = std::numeric_limits<size_t>::max();
  Encoder encoder(*state_, max_length == 0 ? kNoLimit : piece_limit(max_length));
  bool cut = false;
  const std::span<const int32_t> pieces = encoder.run(text, &cut);
  if (truncated != nullptr) *truncated = cut;
  std::vector<int32_t> ids(pieces.size() + static_cast<size_t>(kSpecials));
  ids.front() = state_->cls;
  std::copy(pieces.begin(), pieces.end(), ids.begin() + 1);
  ids.back() = state_->sep;
  return ids;
}

int64_t Tokenizer::encode_into(std::string_view text, std::span<int64_t> ids,
                               std::span<int64_t> mask) const {
  CANTILEVER_ASSERT(ids.size() == mask.size(), "ids ", ids.size(), ", mask ", mask.size());
  Encoder encoder(*state_, piece_limit(static_cast<int64_t>(ids.size())));
  bool cut = false;
  const std::span<const int32_t> pieces = encoder.run(text, &cut);
  const size_t length = pieces.size() + static_cast<size_t>(kSpecials);
  ids.front() = state_->cls;
  std::copy(pieces.begin(), pieces.end(), ids.begin() + 1);
  ids[length - 1] = state_->sep;
  std::fill(ids.begin() + static_cast<ptrdiff_t>(length), ids.end(), int64_t{state_->pad});
  std::fill_n(mask.begin(), length, int64_t{1});
  std::fill(mask.begin() + static_cast<ptrdiff_t>(length), mask.end(), int64_t{0});
  return static_cast<int64_t>(length);
}

std::string Tokenizer::piece(int32_t id) const {
  const bool known = id >= 0 && static_cast<size_t>(id) < state_->pieces.size();
  return known ? state_->pieces[static_cast<size_t>(id)] : std::string();
}

int64_t Tokenizer::vocab_size() const {
  return static_cast<int64_t>(state_->pieces.size());
}
int32_t Tokenizer::pad_id() const {
  return state_->pad;
}
int32_t Tokenizer::bos_id() const {
  return state_->bos;
}
int32_t Tokenizer::eos_id() const {
  return state_->eos;
}

}  // namespace cantilever
