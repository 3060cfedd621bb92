// Where the transforms of `cpu` reduce, so that every intermediate stays an exact integer below 2^53 in magnitude.
// tools/prove_ranges.py reads the tables of this file and proves that, for every degree.
#pragma once

namespace lw::cpu {

/// Passes before the last two stages of a forward transform of 2^log_degree points, in this order. The inverse
/// transform runs the same passes backwards.
struct NttPasses {
  unsigned eights, fours;  // passes of three and of two stages
};

constexpr NttPasses ntt_passes(unsigned log_degree) noexcept {
  const unsigned stages = log_degree - 2;
  if (stages % 3 == 1) return {(stages - 4) / 3, 2};
  return {stages / 3, stages % 3 / 2};
}

/// For primes below 2^bits: bit i says that value i of a pass is reduced. A forward pass reduces before its first
/// stage, an inverse pass after its last one. A tail is the pass of the last two stages, within 4 adjacent positions. A
/// forward tail ends with a reduction of all. The last inverse pass has other ends: its sums are multiplied by 1/N, its
/// differences by a root over N and reduced.
struct NttRanges {
  unsigned bits;
  unsigned forward8, forward4, forward_tail;
  unsigned inverse_tail, inverse4, inverse8;
};

constexpr NttRanges kNttRanges[] = {
    {47, 0b00000000, 0b0000, 0b0000, 0b0000, 0b0001, 0b00000001},
    {49, 0b00000001, 0b0000, 0b0000, 0b0001, 0b0001, 0b00000111},
    {50, 0b00000011, 0b0001, 0b0000, 0b0111, 0b0111, 0b00111111},
};

}  // namespace lw::cpu
