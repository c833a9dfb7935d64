#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "cantilever/data/text/tokenizer_parts.h"
#include "cantilever/io/json.h"

namespace cantilever {

// Takes what it knows from the document of a tokenizer.json (parts->where, parts->config and the
// named special tokens are set); Error for every setting that this tokenizer does not have.
void read_tokenizer_json(Json document, TokenizerParts* parts);

// {"piece": id, ...} into parts->vocab; the object is left empty.
void read_vocabulary(Json& object, const std::string& where, TokenizerParts* parts);

// {"content": ..., "lstrip": ...} with the id that the file gives it.
AddedToken read_added_token(const Json& token, int64_t id, const std::string& where);

// "a b" into its two pieces.
std::pair<std::string, std::string> split_merge(std::string_view line, const std::string& where);

// A whole number from 0 to 2^31 - 1 as a JSON value or as the text of a key.
int64_t checked_id(const Json& value, const std::string& piece, const std::string& where);
int64_t parse_id(const std::string& text, const std::string& where);

}  // namespace cantilever
