#pragma once

#include <array>
#include <cstdint>

namespace cantilever {

// Philox4x32-10 of Salmon et al., "Parallel random numbers: as easy as 1, 2, 3" (SC'11): the block
// of four 32-bit numbers that belongs to a counter under a key. A pure function, so draws do not
// depend on the number of threads and a position in a stream is a number.
std::array<uint32_t, 4> philox4x32(std::array<uint32_t, 4> counter, std::array<uint32_t, 2> key);

// One 64-bit key from several numbers (seed, step, layer ...), well mixed (splitmix64 finaliser).
uint64_t mix_key(uint64_t a, uint64_t b);

}  // namespace cantilever
