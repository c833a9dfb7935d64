#pragma once

#include <filesystem>
#include <fstream>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cantilever/base/file.h"
#include "cantilever/data/text/bpe_trainer.h"
#include "cantilever/data/text/byte_alphabet.h"
#include "cantilever/data/text/tokenizer.h"
#include "cantilever/io/json.h"
#include "tests/support/temporary_folder.h"

namespace cantilever::test {

using Merges = std::vector<std::pair<std::string, std::string>>;

inline const Merges kHandMerges = {{"c", "a"},        {"ca", "t"},       {"\u0120", "c"},
                                   {"\u0120", "m"},   {"a", "t"},        {"o", "n"},
                                   {"\u0120m", "at"}, {"\u0120c", "at"}, {"\u0120", "on"}};

// A tokenizer.json like RoBERTa's: specials 0 to 3, bytes 4 to 259, the pieces of the merges,
// <mask>.
inline Json hand_document(const Merges& merges = kHandMerges) {
  Json vocab = Json::object();
  for (const char* special : {"<s>", "<pad>", "</s>", "<unk>"}) vocab[special] = vocab.size();
  for (const uint8_t byte : ByteAlphabet::get().by_code_point) {
    vocab[ByteAlphabet::get().spelling[byte]] = vocab.size();
  }
  Json list = Json::array();
  for (const auto& [left, right] : merges) {
    list.push_back(Json::array({left, right}));
    if (!vocab.contains(left + right)) vocab[left + right] = vocab.size();
  }
  vocab["<mask>"] = vocab.size();
  Json added = Json::array();
  for (const char* content : {"<s>", "<pad>", "</s>", "<unk>", "<mask>"}) {
    added.push_back({{"id", vocab[content]},
                     {"content", content},
                     {"single_word", false},
                     {"lstrip", std::string(content) == "<mask>"},
                     {"rstrip", false},
                     {"normalized", false},
                     {"special", true}});
  }
  return {
      {"version", "1.0"},
      {"truncation", nullptr},
      {"padding", nullptr},
      {"added_tokens", added},
      {"normalizer", nullptr},
      {"pre_tokenizer", {{"type", "ByteLevel"}, {"add_prefix_space", false}, {"use_regex", true}}},
      {"post_processor",
       {{"type", "RobertaProcessing"}, {"sep", {"</s>", 2}}, {"cls", {"<s>", 0}}}},
      {"decoder", {{"type", "ByteLevel"}}},
      {"model",
       {{"type", "BPE"},
        {"dropout", nullptr},
        {"unk_token", nullptr},
        {"continuing_subword_prefix", ""},
        {"end_of_word_suffix", ""},
        {"fuse_unk", false},
        {"byte_fallback", false},
        {"vocab", vocab},
        {"merges", list}}}};
}

// Without the flush to disk of write_file_atomically, which takes most of the time here.
inline void write_plainly(const std::filesystem::path& path, const std::string& content) {
  std::ofstream(path, std::ios::binary) << content;
}

inline std::shared_ptr<const Tokenizer> load_document(const Json& document) {
  const TemporaryFolder folder;
  write_plainly(folder / "tokenizer.json", dump_json(document));
  return Tokenizer::from_folder(folder.path());
}

// The pieces of a text without <s> and </s>, joined by '|'.
inline std::string pieces(const Tokenizer& tokenizer, std::string_view text) {
  std::vector<int32_t> ids = tokenizer.encode(text);
  std::string out;
  for (size_t i = 1; i + 1 < ids.size(); ++i) out += (i > 1 ? "|" : "") + tokenizer.piece(ids[i]);
  return out;
}

inline std::shared_ptr<const Tokenizer> train_on(std::vector<std::string> captions, int64_t size) {
  size_t next = 0;
  return train_tokenizer(
      [&]() -> std::optional<std::string> {
        if (next == captions.size()) return std::nullopt;
        return captions[next++];
      },
      size);
}

}  // namespace cantilever::test
