// Multiplication by a constant modulo q with a precomputed quotient (Shoup).
#pragma once

#include <cstdint>

#include "math/modulus.hpp"

namespace lw {

/// A fixed factor w in [0, q) and floor(w * 2^64 / q).
struct ShoupFactor {
  std::uint64_t value;
  std::uint64_t quotient;

  ShoupFactor() = default;
  ShoupFactor(std::uint64_t w, std::uint64_t q) noexcept
      : value(w), quotient(static_cast<std::uint64_t>((static_cast<U128>(w) << 64) / q)) {}

  /// x * w mod q in [0, 2q), for any 64-bit x and q < 2^63.
  std::uint64_t mul_lazy(std::uint64_t x, std::uint64_t q) const noexcept {
    const std::uint64_t multiple = static_cast<std::uint64_t>(static_cast<U128>(x) * quotient >> 64);
    return x * value - multiple * q;
  }
  /// The same in [0, q).
  std::uint64_t mul(std::uint64_t x, std::uint64_t q) const noexcept {
    const std::uint64_t r = mul_lazy(x, q);
    return r - (r >= q ? q : 0);
  }
};

}  // namespace lw
