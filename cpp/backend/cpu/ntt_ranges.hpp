// The stages at which the NTTs of `cpu` reduce, so that every intermediate stays an exact integer below 2^53 in
// magnitude. tools/prove_ranges.py reads the tables of this file and proves that, for every degree.
#pragma once

#include <cstddef>

namespace lw::cpu {

constexpr std::size_t kTailWords = 16;  // positions of a tail: a group of NttTable::tails

/// Passes before the tails of a forward transform of 2^log_degree points, in this order. The inverse transform runs the
/// same passes backwards.
struct NttPasses {
  unsigned eights, fours;  // passes of three and of two stages
};

constexpr NttPasses ntt_passes(unsigned log_degree, unsigned tail_stages) noexcept {
  const unsigned stages = log_degree - tail_stages;
  if (stages % 3 == 1) return {(stages - 4) / 3, 2};
  return {stages / 3, stages % 3 / 2};
}

/// Which values the passes of an NTT reduce, for primes below 2^bits: bit i says that value i of a pass is reduced. A
/// forward pass reduces before its first stage, an inverse pass after its last one. A tail is the pass of the last
/// tail_stages stages, within 2^tail_stages adjacent positions. A forward tail ends with a reduction of all. The last
/// inverse pass has other ends: its sums are multiplied by 1/N, its differences by a root over N and reduced.
struct NttRanges {
  unsigned bits, tail_stages;
  unsigned forward8, forward4, forward_tail;
  unsigned inverse_tail, inverse4, inverse8;
};

// For vectors of four words, from degree 16 on.
constexpr NttRanges kNttRanges4[] = {
    {47, 2, 0b00000000, 0b0000, 0b0000, 0b0000, 0b0001, 0b00000001},
    {49, 2, 0b00000001, 0b0000, 0b0000, 0b0001, 0b0001, 0b00000111},
    {50, 2, 0b00000011, 0b0001, 0b0000, 0b0111, 0b0111, 0b00111111},
};

// For vectors of eight, from degree 32 on: tails reduce halves.
constexpr NttRanges kNttRanges8[] = {
    {47, 3, 0b00000000, 0b0000, 0b00000000, 0b00000000, 0b0001, 0b00000001},
    {49, 3, 0b00000001, 0b0000, 0b00000000, 0b00001111, 0b0001, 0b00000111},
    {50, 3, 0b00000011, 0b0001, 0b00001111, 0b11111111, 0b0111, 0b00111111},
};

}  // namespace lw::cpu
