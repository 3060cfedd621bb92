// The constants of one prime in the arithmetic of `cpu`, and the range of residues at rest.
//
// A residue is an integer in a double. Rest range: |x| <= 11/16 q for q < 2^50, and |x| <= 19/32 q for q < 2^49.
// Every kernel takes and leaves that. A product a * b is brought there from h = fl(a b): with a quotient c near h / q,
// h - c q and a b - h are exact, so that only c is approximate (tools/prove_ranges.py).
#pragma once

#include <bit>
#include <cstdint>

#include "backend/kernels.hpp"

namespace lw::cpu {

constexpr std::uint64_t kPrimeLimit = std::uint64_t{1} << 50;

struct Prime {
  double q;
  double inverse;  // float64(1/q)

  explicit Prime(std::uint64_t prime) noexcept : q(static_cast<double>(prime)), inverse(1.0 / q) {}
};

/// The word at rest of an integer below 2^53 in magnitude, and back.
inline Word to_word(double residue) noexcept { return std::bit_cast<Word>(residue); }
inline double from_word(Word word) noexcept { return std::bit_cast<double>(word); }
/// The representative in [0, q) of a word at rest.
inline std::uint64_t canonical(Word word, std::uint64_t q) noexcept {
  const std::int64_t x = static_cast<std::int64_t>(from_word(word));
  return static_cast<std::uint64_t>(x) + (x < 0 ? q : 0);
}
/// The word of the centred representative of a canonical residue.
inline Word balanced_word(std::uint64_t residue, std::uint64_t q) noexcept {
  const std::int64_t x = static_cast<std::int64_t>(residue);
  return to_word(static_cast<double>(residue > q / 2 ? x - static_cast<std::int64_t>(q) : x));
}

}  // namespace lw::cpu
