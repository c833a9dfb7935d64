#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "cantilever/data/loader/batch_loader.h"
#include "cantilever/model/contrastive.h"

namespace cantilever {

// What the model makes of every row of a split, in row order; N rows, C contrastive_hidden_size.
struct SplitEmbeddings {
  at::Tensor text;   // float32 [N, C], unit length
  at::Tensor image;  // float32 [N, C], unit length
  at::Tensor cross;  // float32 [N, C], unit length
  // Rows with the same caption bytes (picture file bytes) have the same number; see retrieval.h.
  std::vector<int64_t> caption_ids;  // [N]
  std::vector<int64_t> image_ids;    // [N]
  // The row behind each of them [N]: its own number, or its replacement's under kSkip.
  std::vector<int64_t> rows;
  std::vector<BadSample> bad_samples;
};

// Eval mode, no gradients; `options.shuffle` and `drop_last` are ignored. Beside the result memory
// is that of one batch. progress: batches done, of how many.
SplitEmbeddings embed_split(BridgeTowerForContrastiveLearning& model,
                            std::shared_ptr<const ExampleSource> source,
                            std::shared_ptr<const Tokenizer> tokenizer, LoaderOptions options,
                            const std::function<void(int64_t, int64_t)>& progress = {});

}  // namespace cantilever
