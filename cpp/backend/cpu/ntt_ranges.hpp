// Where the transforms of `cpu` reduce, so that every intermediate stays an exact integer below 2^53 in magnitude.
// tools/prove_ranges.py reads the tables of this file and proves that, for every degree.
#pragma once

namespace lw::cpu {

/// Passes before the last four stages of a forward transform of 2^log_degree points, in this order. The inverse
/// transform runs the same passes backwards.
struct NttPasses {
  unsigned eights, fours, twos;  // passes of three, two and one stages
};

constexpr NttPasses ntt_passes(unsigned log_degree) noexcept {
  const unsigned stages = log_degree - 4;
  if (stages == 1) return {0, 0, 1};
  if (stages % 3 == 1) return {(stages - 4) / 3, 2, 0};
  return {stages / 3, stages % 3 / 2, 0};
}

/// For primes below 2^bits: bit i says that value i of a pass is reduced. A forward pass reduces before its first
/// stage, an inverse pass after its last one. A tail is the four stages within 16 adjacent positions, two at a time;
/// each pair of stages counts as a pass of four values. A forward tail ends with a reduction of all. The last inverse
/// pass has other ends: its sums are multiplied by 1/N, its differences by a root over N and reduced.
struct NttRanges {
  unsigned bits;
  unsigned forward8, forward4, forward2, forward_tail_first, forward_tail_second;
  unsigned inverse_tail_first, inverse_tail_second, inverse2, inverse4, inverse8;
};

constexpr NttRanges kNttRanges[] = {
    {47, 0b00000000, 0b0000, 0b00, 0b0000, 0b0000, 0b0000, 0b0001, 0b00, 0b0001, 0b00000001},
    {49, 0b00000000, 0b0000, 0b00, 0b0001, 0b0000, 0b0001, 0b0001, 0b00, 0b0001, 0b00000111},
    {50, 0b00000011, 0b0001, 0b00, 0b0001, 0b0000, 0b0001, 0b0111, 0b01, 0b0111, 0b00111111},
};

}  // namespace lw::cpu
