#include <array>
#include <bit>
#include <limits>
#include <numeric>
#include <utility>

#include "cantilever/base/error.h"
#include "cantilever/data/order/sample_order.h"

namespace cantilever {
namespace {

using uint128 = unsigned __int128;

// numpy.random.SeedSequence(seed): O'Neill's seed_seq alternative with a pool of four words.
class SeedSequence {
 public:
  explicit SeedSequence(uint64_t seed) {
    // A seed below 2^32 is one word; the words that are missing count as zero either way.
    const std::array<uint32_t, kWords> entropy = {static_cast<uint32_t>(seed),
                                                  static_cast<uint32_t>(seed >> 32), 0, 0};
    uint32_t hash = 0x43b0d7e5U;
    for (size_t i = 0; i < kWords; ++i) pool_[i] = hash_word(entropy[i], hash);
    for (size_t source = 0; source < kWords; ++source) {
      for (size_t target = 0; target < kWords; ++target) {
        if (source != target) {
          pool_[target] = mix(pool_[target], hash_word(pool_[source], hash));
        }
      }
    }
  }

  // generate_state(4, uint64)
  std::array<uint64_t, 4> state() const {
    std::array<uint32_t, 8> words{};
    uint32_t hash = 0x8b51f9ddU;
    for (size_t i = 0; i < words.size(); ++i) {
      uint32_t word = pool_[i % kWords] ^ hash;
      hash *= 0x58f38dedU;
      word *= hash;
      words[i] = word ^ (word >> 16);
    }
    std::array<uint64_t, 4> result{};
    for (size_t i = 0; i < result.size(); ++i) {
      result[i] = words[2 * i] | (uint64_t{words[2 * i + 1]} << 32);
    }
    return result;
  }

 private:
  static constexpr size_t kWords = 4;

  static uint32_t hash_word(uint32_t word, uint32_t& hash) {
    word ^= hash;
    hash *= 0x931e8875U;
    word *= hash;
    return word ^ (word >> 16);
  }
  static uint32_t mix(uint32_t x, uint32_t y) {
    const uint32_t word = 0xca01f9ddU * x - 0x4973f715U * y;
    return word ^ (word >> 16);
  }

  std::array<uint32_t, kWords> pool_{};
};

// PCG64 as numpy's default generator: 128-bit LCG, XSL-RR output, 32-bit draws low half first.
class Pcg64 {
 public:
  explicit Pcg64(const std::array<uint64_t, 4>& seed) {
    const uint128 sequence = (uint128{seed[2]} << 64) | seed[3];
    increment_ = (sequence << 1) | 1;
    step();
    state_ += (uint128{seed[0]} << 64) | seed[1];
    step();
  }

  uint32_t next32() {
    if (has_half_) {
      has_half_ = false;
      return half_;
    }
    const uint64_t draw = next64();
    has_half_ = true;
    half_ = static_cast<uint32_t>(draw >> 32);
    return static_cast<uint32_t>(draw);
  }

  // Uniform in [0, last], last >= 1, by masking and rejecting (numpy's random_interval).
  uint32_t bounded(uint32_t last) {
    const uint32_t mask = std::numeric_limits<uint32_t>::max() >> std::countl_zero(last);
    uint32_t draw = next32() & mask;
    while (draw > last) draw = next32() & mask;
    return draw;
  }

 private:
  void step() {
    constexpr uint128 kMultiplier =
        (uint128{2549297995355413924ULL} << 64) | 4865540595714422341ULL;
    state_ = state_ * kMultiplier + increment_;
  }
  uint64_t next64() {
    step();
    const uint64_t folded = static_cast<uint64_t>(state_ >> 64) ^ static_cast<uint64_t>(state_);
    const unsigned turn = static_cast<unsigned>(state_ >> 122);
    return (folded >> turn) | (folded << ((64 - turn) & 63));
  }

  uint128 state_ = 0;
  uint128 increment_ = 0;
  bool has_half_ = false;
  uint32_t half_ = 0;
};

}  // namespace

std::vector<int64_t> numpy_permutation(int64_t n, uint64_t seed) {
  CANTILEVER_CHECK(n >= 0 && n <= int64_t{1} << 32, "a permutation of ", n,
                   " elements was asked for; 0 to 2^32 are possible");
  Pcg64 generator(SeedSequence(seed).state());
  std::vector<int64_t> values(static_cast<size_t>(n));
  std::iota(values.begin(), values.end(), int64_t{0});
  for (size_t i = values.size(); i-- > 1;) {
    std::swap(values[i], values[generator.bounded(static_cast<uint32_t>(i))]);
  }
  return values;
}

}  // namespace cantilever
