#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <vector>

namespace cantilever {

struct Hit {
  int64_t row = 0;  // of the gallery; the lowest of rows with the same picture (caption)
  float score = 0;
  bool right = false;
};

struct Ranking {
  std::vector<Hit> hits;  // best first, at most top_k
  int64_t rank = 0;       // place of the best right answer from 1; 0 when there is none
  int64_t gallery = 0;    // different items ranked
};

// Ranks the different items of a gallery [N, C] by dot product with a query [C]. ids [N]: rows with
// the same id are one item (its lowest row stands for it). right_ids: which are right answers.
// Equal scores: lower row first.
Ranking rank_gallery(const at::Tensor& query, const at::Tensor& gallery,
                     const std::vector<int64_t>& ids, const std::vector<int64_t>& right_ids,
                     int64_t top_k);

}  // namespace cantilever
