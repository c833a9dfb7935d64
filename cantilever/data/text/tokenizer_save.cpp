#include <map>
#include <string>
#include <utility>

#include "cantilever/base/file.h"
#include "cantilever/data/text/tokenizer.h"
#include "cantilever/data/text/tokenizer_state.h"

namespace cantilever {
namespace {

// Without a look for an older member of that name, which takes seconds for 50,000 pieces.
void append_member(Json& object, const std::string& key, Json value) {
  object.get_ref<Json::object_t&>().emplace_back(key, std::move(value));
}

class Writer {
 public:
  Writer(const Tokenizer::State& state, int64_t max_length)
      : state_(state), parts_(state.parts), max_length_(max_length) {}

  // tokenizer.json: what was read, or what Transformers 5.24 writes for RoBERTa, with the current
  // pieces and settings.
  Json document() const {
    Json out = parts_.document.is_object() ? parts_.document : fresh_document();
    if (max_length_ > 0) {
      out["truncation"] = {{"direction", "Right"},
                           {"max_length", max_length_},
                           {"strategy", "LongestFirst"},
                           {"stride", 0}};
      out["padding"] = {{"strategy", {{"Fixed", max_length_}}},
                        {"direction", "Right"},
                        {"pad_to_multiple_of", nullptr},
                        {"pad_id", state_.pad},
                        {"pad_type_id", 0},
                        {"pad_token", parts_.pad.content}};
    }
    out["added_tokens"] = added_tokens(out["added_tokens"]);
    out["pre_tokenizer"]["add_prefix_space"] = state_.add_prefix_space;
    set_special_ends(out["post_processor"]);
    out["model"]["vocab"] = vocabulary();
    out["model"]["merges"] = merges();
    return out;
  }

  Json config() const {
    if (parts_.config.is_object()) return parts_.config;
    return {{"add_prefix_space", state_.add_prefix_space},
            {"backend", "tokenizers"},
            {"bos_token", parts_.bos.content},
            {"cls_token", parts_.cls.content},
            {"eos_token", parts_.eos.content},
            {"errors", "replace"},
            {"mask_token", parts_.mask.content},
            {"model_max_length", 512},
            {"pad_token", parts_.pad.content},
            {"sep_token", parts_.sep.content},
            {"tokenizer_class", "RobertaTokenizer"},
            {"trim_offsets", true},
            {"unk_token", parts_.unk.content}};
  }

  // As Transformers 4 writes it.
  Json special_map() const {
    if (parts_.special_map.is_object()) return parts_.special_map;
    return {{"bos_token", parts_.bos.content}, {"cls_token", parts_.cls.content},
            {"eos_token", parts_.eos.content}, {"mask_token", mask()},
            {"pad_token", parts_.pad.content}, {"sep_token", parts_.sep.content},
            {"unk_token", parts_.unk.content}};
  }

  // The model's pieces in the order of their ids.
  Json vocabulary() const {
    Json out = Json::object();
    for (size_t id = 0; id < state_.pieces.size(); ++id) {
      if (state_.ids.contains(state_.pieces[id])) append_member(out, state_.pieces[id], id);
    }
    return out;
  }

  std::string merges_text() const {
    std::string out = "#version: 0.2\n";
    for (const BpeMerge& merge : state_.merges) out += merge_line(merge) + "\n";
    return out;
  }

  // Added tokens that are not in the model's vocabulary.
  Json added_behind_vocabulary() const {
    Json out = Json::object();
    for (const AddedToken& token : state_.added.tokens()) {
      if (!state_.ids.contains(token.content)) append_member(out, token.content, token.id);
    }
    return out;
  }

 private:
  const std::string& piece(int32_t id) const { return state_.pieces[static_cast<size_t>(id)]; }

  std::string merge_line(const BpeMerge& merge) const {
    return piece(merge.left) + " " + piece(merge.right);
  }

  Json merges() const {
    Json::array_t out;
    out.reserve(state_.merges.size());
    for (const BpeMerge& merge : state_.merges) {
      if (parts_.merges_as_text) {
        out.emplace_back(merge_line(merge));
      } else {
        out.emplace_back(Json::array({piece(merge.left), piece(merge.right)}));
      }
    }
    return out;
  }

  // The entries as read, those that were added by name, by id.
  Json added_tokens(const Json& read) const {
    std::map<int32_t, Json> by_id;
    for (const AddedToken& token : state_.added.tokens()) {
      by_id[token.id] = {{"id", token.id},          {"content", token.content},
                         {"single_word", false},    {"lstrip", token.lstrip},
                         {"rstrip", token.rstrip},  {"normalized", token.normalized},
                         {"special", token.special}};
    }
    if (read.is_array()) {
      for (const Json& token : read) by_id[token.at("id").get<int32_t>()] = token;
    }
    Json out = Json::array();
    for (auto& [id, token] : by_id) out.push_back(std::move(token));
    return out;
  }

  void set_special_ends(Json& processor) const {
    const bool is_template =
        processor.is_object() && processor.value("type", std::string()) == "TemplateProcessing";
    if (is_template) return;
    if (!processor.is_object()) processor = fresh_post_processor();
    processor["sep"] = {parts_.sep.content, state_.sep};
    processor["cls"] = {parts_.cls.content, state_.cls};
    processor["add_prefix_space"] = state_.add_prefix_space;
  }

  static Json fresh_post_processor() {
    return {{"type", "RobertaProcessing"},
            {"sep", nullptr},
            {"cls", nullptr},
            {"trim_offsets", true},
            {"add_prefix_space", false}};
  }

  Json fresh_document() const {
    const bool has_unk = !parts_.unk_piece.empty();
    return {{"version", "1.0"},
            {"truncation", nullptr},
            {"padding", nullptr},
            {"added_tokens", nullptr},
            {"normalizer", nullptr},
            {"pre_tokenizer",
             {{"type", "ByteLevel"},
              {"add_prefix_space", false},
              {"trim_offsets", true},
              {"use_regex", true}}},
            {"post_processor", fresh_post_processor()},
            {"decoder",
             {{"type", "ByteLevel"},
              {"add_prefix_space", true},
              {"trim_offsets", true},
              {"use_regex", true}}},
            {"model",
             {{"type", "BPE"},
              {"dropout", nullptr},
              {"unk_token", has_unk ? Json(parts_.unk_piece) : Json(nullptr)},
              {"continuing_subword_prefix", ""},
              {"end_of_word_suffix", ""},
              {"fuse_unk", parts_.fuse_unk},
              {"byte_fallback", false},
              {"ignore_merges", parts_.ignore_merges},
              {"vocab", nullptr},
              {"merges", nullptr}}}};
  }

  Json mask() const {
    for (const AddedToken& token : state_.added.tokens()) {
      if (token.content != parts_.mask.content) continue;
      return {{"content", token.content},
              {"lstrip", token.lstrip},
              {"normalized", token.normalized},
              {"rstrip", token.rstrip},
              {"single_word", false}};
    }
    return parts_.mask.content;
  }

  const Tokenizer::State& state_;
  const TokenizerParts& parts_;
  int64_t max_length_;
};

}  // namespace

void Tokenizer::save(const std::filesystem::path& folder, int64_t max_length) const {
  make_folders(folder);
  const Writer writer(*state_, max_length);
  write_json(folder / "tokenizer.json", writer.document(), 2, false, false);
  write_json(folder / "tokenizer_config.json", writer.config(), 2, true);
  write_json(folder / "special_tokens_map.json", writer.special_map(), 2, true);
  write_json(folder / "vocab.json", writer.vocabulary(), -1, false, false);
  write_file_atomically(folder / "merges.txt", writer.merges_text());
  const Json behind = writer.added_behind_vocabulary();
  if (!behind.empty()) write_json(folder / "added_tokens.json", behind, 2, true);
}

}  // namespace cantilever
