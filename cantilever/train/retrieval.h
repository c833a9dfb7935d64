#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <vector>

namespace cantilever {

// How well one side finds the other. Shares between 0 and 1.
struct RetrievalSide {
  int64_t queries = 0;  // different captions (pictures)
  int64_t gallery = 0;  // different pictures (captions) to choose from
  double recall_at_1 = 0;
  double recall_at_5 = 0;
  double recall_at_10 = 0;
  double median_rank = 0;  // from 1; the mean of the middle two when there is an even number
  double chance_at_1 = 0, chance_at_5 = 0, chance_at_10 = 0;  // the same of a ranking by lot
};

struct RetrievalMetrics {
  int64_t rows = 0;
  RetrievalSide text_to_image;
  RetrievalSide image_to_text;
};

// From embeddings [N, C] whose row i is a pair; scores are dot products in float32.
//
// Repeated captions and pictures: rows with the same id (SplitEmbeddings) are one query and one
// gallery item (the embedding of the lowest row); an answer is right when any row pairs it with the
// query, and the best right answer counts. Empty ids: every row is different.
//
// Ties: scores closer than 1e-6 to that of the best right answer are tied with it. Recall@k is the
// expectation when tied items stand in random order (only one right answer among them is counted),
// and the rank is the middle of the places they take. So a model that gives everything the same
// embedding is rated near chance, and no number depends on the order of the rows.
//
// Scores are made in chunks of queries: memory is that of 256 x N numbers. Throws Error for shapes
// that do not match, no rows, or embeddings that are not finite.
RetrievalMetrics measure_retrieval(const at::Tensor& text, const at::Tensor& image,
                                   const std::vector<int64_t>& caption_ids = {},
                                   const std::vector<int64_t>& image_ids = {});

}  // namespace cantilever
