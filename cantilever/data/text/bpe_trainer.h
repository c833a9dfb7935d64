#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "cantilever/data/text/tokenizer.h"

namespace cantilever {

// Learns a byte-level BPE from captions, laid out as RoBERTa's: <s> 0, <pad> 1, </s> 2, <unk> 3,
// the 256 bytes, the merges, <mask> last. Equal to tokenizers' BpeTrainer (min_frequency 0) with
// the same captions. `next` returns captions until nullopt. Throws Error when vocab_size is below
// 261.
std::shared_ptr<const Tokenizer> train_tokenizer(
    const std::function<std::optional<std::string>()>& next, int64_t vocab_size);

}  // namespace cantilever
