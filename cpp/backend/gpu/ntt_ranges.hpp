// The stages at which the NTTs of Fp64 reduce, so that every intermediate stays an exact integer below 2^53 in
// magnitude, and every quotient within the 2^51 that nearest_product takes. tools/prove_ranges.py reads the table and
// proves that, for every degree.
#pragma once

#include <cstdint>

namespace lw::gpu {

/// Which stages of the NTTs of Fp64 reduce, for primes below 2^bits: bit k is about the stage whose butterflies span
/// 2^k words, which is the forward transform's last but k and the inverse one's number k. Forward, the first operands
/// of butterflies are reduced before the stage, and all results of the last one. Backwards, sums are reduced after the
/// stage; those of the last are multiplied by 1/N instead, its differences by a root over N and reduced.
struct NttRanges {
  std::uint32_t bits, forward, inverse;
};

inline constexpr NttRanges kNttRanges[] = {
    {47, 0b00000000000000000, 0b00000100001000010},
    {49, 0b00000000001000000, 0b00010010010010010},
    {50, 0b00001000100010000, 0b01010101010101010},
};

}  // namespace lw::gpu
