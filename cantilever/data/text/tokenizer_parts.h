#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "cantilever/data/text/added_tokens.h"
#include "cantilever/io/json.h"

namespace cantilever {

// What the files say about one special token, before its id is known.
struct NamedSpecial {
  std::string content;
  bool lstrip = false;
  bool rstrip = false;
  bool normalized = false;
  bool in_files = false;  // named by a file, not only by RoBERTa's defaults
};

// Everything that tokenizer files hold, not yet checked against one another. Read by
// tokenizer_files.cpp or made by the trainer; build_state makes a tokenizer of it.
struct TokenizerParts {
  std::string where;  // the file or folder that messages name

  std::vector<std::pair<std::string, int64_t>> vocab;
  std::vector<std::pair<std::string, std::string>> merges;
  std::vector<AddedToken> added;
  std::string unk_piece;  // model.unk_token; empty: bytes that have no piece are left out
  bool fuse_unk = false;
  bool ignore_merges = false;
  bool add_prefix_space = false;

  NamedSpecial bos{"<s>"}, eos{"</s>"}, cls{"<s>"}, sep{"</s>"}, pad{"<pad>"}, unk{"<unk>"};
  NamedSpecial mask{"<mask>", true};

  // The files as read, for saving; null where there was none. document is tokenizer.json with
  // model.vocab and model.merges empty.
  Json document;
  Json config;
  Json special_map;
  bool merges_as_text = false;  // "a b", as older writers have it, instead of ["a", "b"]
};

}  // namespace cantilever
