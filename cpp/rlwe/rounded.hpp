// Constants as integer coefficients, not yet reduced by any prime of the modulus: what plaintexts are lifted from.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "rlwe/ciphertext.hpp"

namespace lw {

/// Coefficients of a public polynomial, a fraction of the size of a plaintext: all N, or those at the multiples of
/// N / size(); in `narrow` if all are small enough.
struct Rounded {
  std::vector<std::int32_t> narrow;
  std::vector<std::int64_t> wide;

  explicit Rounded(std::vector<std::int64_t> coefficients);

  std::size_t size() const noexcept { return narrow.size() + wide.size(); }
  std::size_t num_bytes() const noexcept { return narrow.size() * sizeof(narrow[0]) + wide.size() * sizeof(wide[0]); }
  std::size_t hash() const noexcept;
  bool operator==(const Rounded&) const = default;

  std::vector<std::int64_t> coefficients() const;
};

/// The polynomial with these coefficients at the multiples of N / size, over a level.
Plaintext lift_integers(const Context& context, std::span<const std::int64_t> coefficients, Level level, double scale,
                        Basis basis);

}  // namespace lw
