#include "cantilever/data/text/bpe.h"

#include <gtest/gtest.h>

#include <chrono>
#include <numeric>
#include <random>
#include <string>

namespace cantilever {
namespace {

using Ids = std::vector<int32_t>;

std::array<int32_t, 256> identity() {
  std::array<int32_t, 256> ids{};
  std::iota(ids.begin(), ids.end(), 0);
  return ids;
}

// The definition, word for word: the lowest rank anywhere, the leftmost place, one merge at a time.
Ids by_definition(const std::vector<BpeMerge>& merges, const std::string& piece) {
  Ids ids;
  for (const char byte : piece) ids.push_back(static_cast<unsigned char>(byte));
  while (true) {
    size_t best_rank = merges.size();
    size_t best_place = 0;
    for (size_t i = 0; i + 1 < ids.size(); ++i) {
      for (size_t rank = 0; rank < best_rank; ++rank) {
        if (merges[rank].left != ids[i] || merges[rank].right != ids[i + 1]) continue;
        best_rank = rank;
        best_place = i;
      }
    }
    if (best_rank == merges.size()) return ids;
    ids[best_place] = merges[best_rank].result;
    ids.erase(ids.begin() + static_cast<ptrdiff_t>(best_place) + 1);
  }
}

TEST(BpeTest, EqualsTheDefinitionForShortAndLongPieces) {
  std::mt19937 draw(7);
  BpeScratch scratch;
  int merged = 0;
  for (int round = 0; round < 60; ++round) {
    std::vector<std::string> spelled;
    for (int byte = 0; byte < 256; ++byte) spelled.emplace_back(1, static_cast<char>(byte));
    Ids parts = {'a', 'b', 'c'};
    std::vector<BpeMerge> merges;
    for (int i = 0; i < 40; ++i) {
      const int32_t left = parts[draw() % parts.size()];
      const int32_t right = parts[draw() % parts.size()];
      const bool listed = std::any_of(merges.begin(), merges.end(), [&](const BpeMerge& merge) {
        return merge.left == left && merge.right == right;
      });
      if (listed) continue;
      const std::string text =
          spelled[static_cast<size_t>(left)] + spelled[static_cast<size_t>(right)];
      const auto known = std::find(spelled.begin(), spelled.end(), text);
      const auto result = static_cast<int32_t>(known - spelled.begin());
      if (known == spelled.end()) {
        spelled.push_back(text);
        parts.push_back(result);
      }
      merges.push_back({left, right, result});
    }
    const BpeModel model(identity(), merges, BpeModel::kNoId);
    for (int i = 0; i < 60; ++i) {
      std::string piece(1 + draw() % 70, 'a');
      for (char& byte : piece) byte = static_cast<char>('a' + draw() % (1 + draw() % 3));
      Ids got = {-5};
      model.encode(piece, scratch, got);
      Ids expected = by_definition(merges, piece);
      merged += static_cast<int>(piece.size() - expected.size());
      expected.insert(expected.begin(), -5);
      ASSERT_EQ(got, expected) << piece;
    }
  }
  EXPECT_GT(merged, 10000);
}

TEST(BpeTest, TheLaterOfTwoEqualMergesCounts) {
  BpeScratch scratch;
  Ids ids;
  BpeModel({identity(), {{'a', 'b', 300}, {'b', 'c', 301}, {'a', 'b', 300}}, BpeModel::kNoId})
      .encode("abc", scratch, ids);
  EXPECT_EQ(ids, (Ids{'a', 301}));
}

TEST(BpeTest, BytesWithoutAPieceVanishOrBecomeUnknown) {
  std::array<int32_t, 256> bytes = identity();
  bytes['x'] = BpeModel::kNoId;
  BpeScratch scratch;
  Ids ids;
  const std::vector<BpeMerge> merges = {{'a', 'b', 300}};
  BpeModel(bytes, merges, BpeModel::kNoId).encode("axxb", scratch, ids);
  EXPECT_EQ(ids, (Ids{300}));
  ids.clear();
  bytes['x'] = 3;
  BpeModel(bytes, merges, BpeModel::kNoId).encode("axxb", scratch, ids);
  EXPECT_EQ(ids, (Ids{'a', 3, 3, 'b'}));
  ids.clear();
  BpeModel(bytes, merges, 3).encode("axxbx", scratch, ids);
  EXPECT_EQ(ids, (Ids{'a', 3, 'b', 3}));
}

TEST(BpeTest, LongRunsTakeNoQuadraticTime) {
  std::vector<BpeMerge> merges;
  for (int32_t i = 0; i < 12; ++i) {
    const int32_t part = i == 0 ? 'a' : 300 + i - 1;
    merges.push_back({part, part, 300 + i});
  }
  const BpeModel model(identity(), merges, BpeModel::kNoId);
  BpeScratch scratch;
  Ids ids;
  const auto start = std::chrono::steady_clock::now();
  model.encode(std::string(1 << 20, 'a'), scratch, ids);
  const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - start;
  EXPECT_EQ(ids, Ids(256, 311));
  EXPECT_LT(taken.count(), 10.0);  // a quadratic loop needs hours
}

}  // namespace
}  // namespace cantilever
