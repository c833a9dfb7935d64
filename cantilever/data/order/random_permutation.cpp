#include <limits>
#include <numeric>
#include <random>
#include <utility>

#include "cantilever/base/error.h"
#include "cantilever/data/order/sample_order.h"

namespace cantilever {
namespace {

// From this length on torch draws 64 bits a step (ATen/native/TensorFactories.cpp, randperm_cpu).
constexpr int64_t kFirstLongPermutation = std::numeric_limits<uint32_t>::max() / 20;

// Fisher-Yates from the front with 32-bit draws; the modulo's slight bias is torch's own.
template <class Row>
void fill_short(std::vector<Row>& values, std::mt19937& engine) {
  std::iota(values.begin(), values.end(), Row{0});
  const size_t n = values.size();
  for (size_t i = 0; i + 1 < n; ++i) std::swap(values[i], values[i + engine() % (n - i)]);
}

// "Inside-out" Fisher-Yates with 64-bit draws, the first 32 bits drawn on top.
template <class Row>
void fill_long(std::vector<Row>& values, std::mt19937& engine) {
  for (size_t i = 0; i < values.size(); ++i) {
    const uint64_t high = engine();
    const uint64_t draw = (high << 32) | engine();
    const size_t z = static_cast<size_t>(draw % (i + 1));
    values[i] = static_cast<Row>(i);
    values[i] = values[z];
    values[z] = static_cast<Row>(i);
  }
}

template <class Row>
void fill(int64_t n, uint64_t seed, std::vector<Row>& values) {
  CANTILEVER_CHECK(n >= 0, "a permutation of ", n, " elements was asked for");
  CANTILEVER_CHECK(static_cast<uint64_t>(n) <= std::numeric_limits<Row>::max(), n,
                   " rows are more than can be shuffled (", std::numeric_limits<Row>::max(), ")");
  // at::mt19937 takes the low half of the seed; the engine is the standard one.
  std::mt19937 engine(static_cast<uint32_t>(seed));
  values.resize(static_cast<size_t>(n));
  if (n < kFirstLongPermutation) {
    fill_short(values, engine);
  } else {
    fill_long(values, engine);
  }
}

}  // namespace

std::vector<int64_t> random_permutation(int64_t n, uint64_t seed) {
  std::vector<int64_t> values;
  fill(n, seed, values);
  return values;
}

void random_permutation(int64_t n, uint64_t seed, std::vector<uint32_t>& values) {
  fill(n, seed, values);
}

}  // namespace cantilever
