#include "cantilever/data/text/tokenizer_state.h"

#include <algorithm>
#include <atomic>
#include <limits>
#include <utility>

#include "cantilever/base/error.h"
#include "cantilever/base/log.h"
#include "cantilever/data/text/byte_alphabet.h"

namespace cantilever {
namespace {

constexpr int64_t kMaxId = std::numeric_limits<int32_t>::max();

class Builder {
 public:
  explicit Builder(TokenizerParts parts)
      : parts_(std::move(parts)), where_(parts_.where), state_(new Tokenizer::State) {}

  std::unique_ptr<Tokenizer::State> build() {
    fill_vocabulary();
    add_named_specials();
    fill_added_tokens();
    fill_special_ids();
    fill_merges();
    static std::atomic<uint32_t> owners{0};
    state_->owner = ++owners;
    state_->ignore_merges = parts_.ignore_merges;
    state_->add_prefix_space = parts_.add_prefix_space;
    parts_.vocab.clear();
    parts_.merges.clear();
    parts_.added.clear();
    state_->parts = std::move(parts_);
    return std::move(state_);
  }

 private:
  // The ids of n pieces must be 0 to n-1, which also bounds what a bad file can make us allocate.
  void place(const std::string& piece, int64_t id) {
    const auto count = static_cast<int64_t>(state_->pieces.size());
    CANTILEVER_CHECK(id >= 0 && id <= kMaxId, where_, ": the id of ", quoted(piece), " is ", id,
                     "; ids are whole numbers from 0 to ", kMaxId);
    CANTILEVER_CHECK(id < count, where_, ": ", quoted(piece), " has id ", id, " among ", count,
                     " pieces, whose ids should be 0 to ", count - 1,
                     ": the vocabulary has gaps or was cut");
    const auto place = static_cast<size_t>(id);
    CANTILEVER_CHECK(!taken_[place], where_, ": ", quoted(piece), " and ",
                     quoted(state_->pieces[place]), " have the same id ", id);
    taken_[place] = true;
    state_->pieces[place] = piece;
  }

  void fill_vocabulary() {
    CANTILEVER_CHECK(!parts_.vocab.empty(), where_, ": the vocabulary is empty");
    std::unordered_map<std::string, int64_t> known(parts_.vocab.begin(), parts_.vocab.end());
    CANTILEVER_CHECK(known.size() == parts_.vocab.size(), where_,
                     ": the vocabulary names a piece twice");
    size_t count = known.size();
    for (const AddedToken& token : parts_.added) count += known.count(token.content) == 0 ? 1 : 0;
    state_->pieces.resize(count);
    taken_.resize(count);
    for (const auto& [piece, id] : parts_.vocab) {
      place(piece, id);
      state_->ids.emplace(piece, static_cast<int32_t>(id));
    }
  }

  // Transformers finds the named special tokens in a text also when tokenizer.json does not list
  // them as added.
  void add_named_specials() {
    for (const NamedSpecial* named : {&parts_.bos, &parts_.eos, &parts_.cls, &parts_.sep,
                                      &parts_.pad, &parts_.unk, &parts_.mask}) {
      const auto same = [named](const AddedToken& token) {
        return token.content == named->content;
      };
      if (std::any_of(parts_.added.begin(), parts_.added.end(), same)) continue;
      const auto known = state_->ids.find(named->content);
      if (known == state_->ids.end()) continue;
      parts_.added.push_back(
          {known->second, named->content, named->lstrip, named->rstrip, named->normalized, true});
    }
  }

  void fill_added_tokens() {
    for (size_t i = 0; i < parts_.added.size(); ++i) {
      const AddedToken& token = parts_.added[i];
      CANTILEVER_CHECK(!token.content.empty(), where_, ": an added token has no content");
      const auto known = state_->ids.find(token.content);
      if (known == state_->ids.end()) {
        place(token.content, token.id);
      } else {
        CANTILEVER_CHECK(known->second == token.id, where_, ": added token ", quoted(token.content),
                         " has id ", token.id, ", but the vocabulary gives it ", known->second);
      }
      const bool is_new = added_ids_.emplace(token.content, token.id).second;
      CANTILEVER_CHECK(is_new, where_, ": added token ", quoted(token.content), " is listed twice");
    }
    std::stable_sort(parts_.added.begin(), parts_.added.end(),
                     [](const AddedToken& a, const AddedToken& b) { return a.id < b.id; });
    state_->added = AddedTokenFinder(std::move(parts_.added));
  }

  int32_t special(const char* role, const NamedSpecial& named, bool required) const {
    const auto added = added_ids_.find(named.content);
    if (added != added_ids_.end()) return added->second;
    CANTILEVER_CHECK(!required && !named.in_files, where_, ": the special token ",
                     quoted(named.content), " (", role, ") is not in the vocabulary");
    return BpeModel::kNoId;
  }

  void fill_special_ids() {
    state_->bos = special("bos_token", parts_.bos, true);
    state_->eos = special("eos_token", parts_.eos, true);
    state_->cls = special("cls_token", parts_.cls, true);
    state_->sep = special("sep_token", parts_.sep, true);
    state_->pad = special("pad_token", parts_.pad, true);
    special("unk_token", parts_.unk, false);
    special("mask_token", parts_.mask, false);
  }

  int32_t merge_part(size_t rank, const std::string& piece) const {
    const auto known = state_->ids.find(piece);
    CANTILEVER_CHECK(known != state_->ids.end(), where_, ": merge ", rank + 1, " needs the piece ",
                     quoted(piece), ", which the vocabulary does not have");
    return known->second;
  }

  void fill_merges() {
    state_->merges.reserve(parts_.merges.size());
    for (size_t rank = 0; rank < parts_.merges.size(); ++rank) {
      const auto& [left, right] = parts_.merges[rank];
      state_->merges.push_back(
          {merge_part(rank, left), merge_part(rank, right), merge_part(rank, left + right)});
    }
    int32_t unk = BpeModel::kNoId;
    if (!parts_.unk_piece.empty()) {
      const auto known = state_->ids.find(parts_.unk_piece);
      CANTILEVER_CHECK(known != state_->ids.end(), where_, ": model.unk_token ",
                       quoted(parts_.unk_piece), " is not in the vocabulary");
      unk = known->second;
    }
    std::array<int32_t, 256> bytes{};
    int missing = 0;
    for (size_t byte = 0; byte < bytes.size(); ++byte) {
      const auto known = state_->ids.find(ByteAlphabet::get().spelling[byte]);
      bytes[byte] = known == state_->ids.end() ? unk : known->second;
      missing += known == state_->ids.end() ? 1 : 0;
    }
    CANTILEVER_CHECK(missing < 256, where_,
                     ": none of the 256 bytes has a piece: not a byte-level vocabulary");
    if (missing > 0) {
      log_warning(concat(where_, ": ", missing, " of the 256 bytes have no piece; in a text they ",
                         unk == BpeModel::kNoId ? "are left out" : "become the unknown token"));
    }
    state_->model = BpeModel(bytes, state_->merges, parts_.fuse_unk ? unk : BpeModel::kNoId);
  }

  TokenizerParts parts_;
  std::string where_;
  std::unique_ptr<Tokenizer::State> state_;
  std::vector<bool> taken_;
  std::unordered_map<std::string, int32_t> added_ids_;
};

}  // namespace

std::unique_ptr<Tokenizer::State> build_state(TokenizerParts parts) {
  return Builder(std::move(parts)).build();
}

}  // namespace cantilever
