#include "cantilever/train/retrieval.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "cantilever/base/error.h"

namespace cantilever {
namespace {

constexpr int64_t kChunk = 256;
constexpr float kTie = 1e-6F;

// The different items of one side: where each first stands, and the item of every row.
struct Items {
  std::vector<int64_t> first_rows;
  std::vector<int64_t> of_row;
};

Items collect(const std::vector<int64_t>& ids, int64_t rows) {
  Items items;
  std::map<int64_t, int64_t> known;
  for (int64_t row = 0; row < rows; ++row) {
    const int64_t id = ids.empty() ? row : ids[static_cast<size_t>(row)];
    const auto [found, fresh] = known.emplace(id, static_cast<int64_t>(items.first_rows.size()));
    if (fresh) items.first_rows.push_back(row);
    items.of_row.push_back(found->second);
  }
  return items;
}

at::Tensor pick(const at::Tensor& embeddings, const Items& items) {
  const at::Tensor index = at::tensor(items.first_rows, at::kLong);
  return embeddings.index_select(0, index);
}

// Places of the best right answer: `better` items before it, `tied` beside it.
struct Place {
  int64_t better = 0;
  int64_t tied = 0;
};

Place find_place(const float* scores, int64_t gallery, const std::vector<int64_t>& right) {
  float best = scores[right.front()];
  for (const int64_t item : right) best = std::max(best, scores[item]);
  Place place;
  for (int64_t item = 0; item < gallery; ++item) {
    if (std::abs(scores[item] - best) <= kTie) {
      ++place.tied;
    } else if (scores[item] > best) {
      ++place.better;
    }
  }
  // Other right answers in the tie are no rivals.
  for (const int64_t item : right) {
    if (std::abs(scores[item] - best) <= kTie) --place.tied;
  }
  return place;
}

double recall(const Place& place, int64_t k) {
  const double share = static_cast<double>(k - place.better) / static_cast<double>(place.tied + 1);
  return std::clamp(share, 0.0, 1.0);
}

// Probability that at least one of `right` among `gallery` items in random order is in the first k.
double chance(int64_t right, int64_t gallery, int64_t k) {
  double miss = 1;
  for (int64_t place = 0; place < std::min(k, gallery); ++place) {
    miss *= std::max(
        0.0, static_cast<double>(gallery - right - place) / static_cast<double>(gallery - place));
  }
  return 1 - miss;
}

double median(std::vector<double>& values) {
  std::sort(values.begin(), values.end());
  const size_t middle = values.size() / 2;
  return values.size() % 2 == 1 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
}

RetrievalSide measure_side(const at::Tensor& query_embeddings, const Items& queries,
                           const at::Tensor& gallery_embeddings, const Items& gallery) {
  const at::Tensor from = pick(query_embeddings, queries);
  const at::Tensor to = pick(gallery_embeddings, gallery).t();
  RetrievalSide side;
  side.queries = from.size(0);
  side.gallery = to.size(1);
  std::vector<std::vector<int64_t>> right(static_cast<size_t>(side.queries));
  for (size_t row = 0; row < queries.of_row.size(); ++row) {
    auto& list = right[static_cast<size_t>(queries.of_row[row])];
    const int64_t item = gallery.of_row[row];
    if (std::find(list.begin(), list.end(), item) == list.end()) list.push_back(item);
  }
  std::vector<double> ranks;
  for (int64_t begin = 0; begin < side.queries; begin += kChunk) {
    const int64_t count = std::min(kChunk, side.queries - begin);
    const at::Tensor scores = at::matmul(from.narrow(0, begin, count), to).contiguous();
    for (int64_t i = 0; i < count; ++i) {
      const auto& answers = right[static_cast<size_t>(begin + i)];
      const Place place =
          find_place(scores.const_data_ptr<float>() + i * side.gallery, side.gallery, answers);
      ranks.push_back(1 + static_cast<double>(place.better) + static_cast<double>(place.tied) / 2);
      side.recall_at_1 += recall(place, 1);
      side.recall_at_5 += recall(place, 5);
      side.recall_at_10 += recall(place, 10);
      const auto right_count = static_cast<int64_t>(answers.size());
      side.chance_at_1 += chance(right_count, side.gallery, 1);
      side.chance_at_5 += chance(right_count, side.gallery, 5);
      side.chance_at_10 += chance(right_count, side.gallery, 10);
    }
  }
  for (double* value : {&side.recall_at_1, &side.recall_at_5, &side.recall_at_10, &side.chance_at_1,
                        &side.chance_at_5, &side.chance_at_10}) {
    *value /= static_cast<double>(side.queries);
  }
  side.median_rank = median(ranks);
  return side;
}

at::Tensor checked(const at::Tensor& embeddings, const char* name) {
  CANTILEVER_CHECK(embeddings.dim() == 2 && embeddings.size(0) > 0, name,
                   " embeddings must be [N, C] with at least one row");
  const at::Tensor values = embeddings.detach().to(at::kFloat).contiguous();
  CANTILEVER_CHECK(at::isfinite(values).all().item<bool>(), name,
                   " embeddings hold a value that is not finite; the model has diverged");
  return values;
}

}  // namespace

RetrievalMetrics measure_retrieval(const at::Tensor& text, const at::Tensor& image,
                                   const std::vector<int64_t>& caption_ids,
                                   const std::vector<int64_t>& image_ids) {
  const c10::AutoGradMode no_grad(false);
  const at::Tensor texts = checked(text, "text");
  const at::Tensor images = checked(image, "image");
  CANTILEVER_CHECK(texts.sizes() == images.sizes(), "text embeddings are [", texts.size(0), ", ",
                   texts.size(1), "], image embeddings [", images.size(0), ", ", images.size(1),
                   "]; they must be pairs");
  const int64_t rows = texts.size(0);
  for (const auto* ids : {&caption_ids, &image_ids}) {
    CANTILEVER_CHECK(ids->empty() || static_cast<int64_t>(ids->size()) == rows, "there are ",
                     ids->size(), " ids for ", rows, " rows");
  }
  const Items captions = collect(caption_ids, rows);
  const Items pictures = collect(image_ids, rows);
  RetrievalMetrics metrics;
  metrics.rows = rows;
  metrics.text_to_image = measure_side(texts, captions, images, pictures);
  metrics.image_to_text = measure_side(images, pictures, texts, captions);
  return metrics;
}

}  // namespace cantilever
