#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <sstream>
#include <string>

#include "cantilever/base/error.h"
#include "cantilever/data/order/sample_order.h"

namespace cantilever {
namespace {

// permutations.txt was written by make_permutations.py with torch and numpy themselves.
TEST(Permutation, EqualsTorchAndNumpy) {
  std::ifstream file(std::string(CANTILEVER_TEST_ROOT) + "/data/order/permutations.txt");
  ASSERT_TRUE(file.is_open());
  std::string line;
  int checked = 0;
  while (std::getline(file, line)) {
    std::istringstream fields(line);
    std::string library;
    int64_t n = 0;
    uint64_t seed = 0;
    uint64_t expected_sum = 0;
    ASSERT_TRUE(fields >> library >> n >> seed >> expected_sum) << line;
    const std::vector<int64_t> values =
        library == "torch" ? random_permutation(n, seed) : numpy_permutation(n, seed);
    ASSERT_EQ(static_cast<int64_t>(values.size()), n);
    uint64_t sum = 0;
    for (size_t i = 0; i < values.size(); ++i) sum += (i + 1) * static_cast<uint64_t>(values[i]);
    EXPECT_EQ(sum, expected_sum) << line;
    int64_t expected = 0;
    for (size_t i = 0; fields >> expected; ++i) EXPECT_EQ(values[i], expected) << line;
    ++checked;
  }
  EXPECT_EQ(checked, 144);
}

TEST(Permutation, OfNothingIsEmpty) {
  EXPECT_TRUE(random_permutation(0, 42).empty());
  EXPECT_TRUE(numpy_permutation(0, 42).empty());
}

TEST(Permutation, RefusesNegativeLengths) {
  EXPECT_THROW(random_permutation(-1, 42), Error);
  EXPECT_THROW(numpy_permutation(-1, 42), Error);
}

}  // namespace
}  // namespace cantilever
