#include "cantilever/cli/ranking.h"

#include <ATen/ops/mv.h>

#include <algorithm>
#include <unordered_set>

#include "cantilever/base/error.h"

namespace cantilever {

Ranking rank_gallery(const at::Tensor& query, const at::Tensor& gallery,
                     const std::vector<int64_t>& ids, const std::vector<int64_t>& right_ids,
                     int64_t top_k) {
  CANTILEVER_ASSERT(static_cast<int64_t>(ids.size()) == gallery.size(0));
  const at::Tensor scores = at::mv(gallery, query).contiguous();
  const float* score = scores.const_data_ptr<float>();
  const std::unordered_set<int64_t> right(right_ids.begin(), right_ids.end());
  std::unordered_set<int64_t> seen;
  std::vector<Hit> hits;
  for (size_t row = 0; row < ids.size(); ++row) {
    if (!seen.insert(ids[row]).second) continue;
    hits.push_back({static_cast<int64_t>(row), score[row], right.contains(ids[row])});
  }
  std::stable_sort(hits.begin(), hits.end(),
                   [](const Hit& a, const Hit& b) { return a.score > b.score; });
  Ranking ranking;
  ranking.gallery = static_cast<int64_t>(hits.size());
  const auto best =
      std::find_if(hits.begin(), hits.end(), [](const Hit& hit) { return hit.right; });
  if (best != hits.end()) ranking.rank = best - hits.begin() + 1;
  hits.resize(std::min(hits.size(), static_cast<size_t>(top_k)));
  ranking.hits = std::move(hits);
  return ranking;
}

}  // namespace cantilever
