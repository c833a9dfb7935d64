#pragma once

#include <filesystem>

#include "cantilever/data/text/tokenizer_parts.h"

namespace cantilever {

// Reads tokenizer.json, or vocab.json and merges.txt, with tokenizer_config.json,
// special_tokens_map.json and added_tokens.json where they exist. Throws Error with file and place.
TokenizerParts read_tokenizer_files(const std::filesystem::path& folder);

}  // namespace cantilever
