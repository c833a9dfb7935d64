#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "cantilever/data/text/added_tokens.h"
#include "cantilever/data/text/bpe.h"
#include "cantilever/data/text/split_pattern.h"
#include "cantilever/data/text/tokenizer.h"
#include "cantilever/data/text/tokenizer_parts.h"

namespace cantilever {

struct Tokenizer::State {
  std::vector<std::string> pieces;               // by id, added tokens included
  std::unordered_map<std::string, int32_t> ids;  // of the model's vocabulary
  std::vector<BpeMerge> merges;
  BpeModel model;
  AddedTokenFinder added;
  PieceSplitter splitter;
  bool ignore_merges = false;
  bool add_prefix_space = false;
  int32_t bos = 0;
  int32_t eos = 0;
  int32_t cls = 0;  // first id of every encoding
  int32_t sep = 0;  // last
  int32_t pad = 0;
  uint32_t owner = 0;    // names this tokenizer in word caches
  TokenizerParts parts;  // for save; vocab, merges and added are empty
};

// Checks the parts against one another. Throws Error that starts with parts.where.
std::unique_ptr<Tokenizer::State> build_state(TokenizerParts parts);

}  // namespace cantilever
