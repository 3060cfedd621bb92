// Where the transforms of Fp64 reduce, so that every intermediate stays an exact integer below 2^53 in magnitude, and
// every quotient within the 2^51 that nearest_small takes. tools/prove_ranges.py reads the table and proves that, for
// every degree.
#pragma once

#include <cstdint>

namespace lw::gpu {

/// For primes below 2^bits: bit s is about the stage of 2^s blocks, which is the forward transform's number s and the
/// inverse one's last but s. Forward, the first operands of butterflies are reduced before the stage, and all results
/// of the last one. Backwards, sums are reduced after the stage; those of the last are multiplied by 1/N instead, its
/// differences by a root over N and reduced.
struct NttRanges {
  std::uint32_t bits, forward, inverse;
};

constexpr NttRanges kNttRanges[] = {
    {47, 0b00000000000000000, 0b00100001000010000},
    {49, 0b00000000100000000, 0b01001010010100100},
    {50, 0b00100100100100100, 0b01101101101101100},
};

}  // namespace lw::gpu
