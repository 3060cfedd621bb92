// A prime modulus q < 2^60 with exact 64-bit arithmetic.
#pragma once

#include <cstdint>

namespace lw {

__extension__ typedef unsigned __int128 U128;
__extension__ typedef __int128 I128;

/// Barrett constants of one modulus. All functions take and return canonical residues in [0, q).
class Modulus {
 public:
  explicit Modulus(std::uint64_t q) noexcept : q_(q) {
    const U128 ratio = ~static_cast<U128>(0) / q;  // floor((2^128 - 1) / q) == floor(2^128 / q), as q is odd
    ratio_hi_ = static_cast<std::uint64_t>(ratio >> 64);
    ratio_lo_ = static_cast<std::uint64_t>(ratio);
  }
  std::uint64_t value() const noexcept { return q_; }

  std::uint64_t reduce(U128 x) const noexcept {
    const std::uint64_t lo = static_cast<std::uint64_t>(x), hi = static_cast<std::uint64_t>(x >> 64);
    const U128 mid = static_cast<U128>(lo) * ratio_hi_ + (static_cast<U128>(lo) * ratio_lo_ >> 64);
    const U128 mid2 = static_cast<U128>(hi) * ratio_lo_ + static_cast<std::uint64_t>(mid);
    const std::uint64_t quotient =
        hi * ratio_hi_ + static_cast<std::uint64_t>(mid >> 64) + static_cast<std::uint64_t>(mid2 >> 64);
    const std::uint64_t r = lo - quotient * q_;  // in [0, 2q)
    return r - (r >= q_ ? q_ : 0);
  }
  std::uint64_t add(std::uint64_t a, std::uint64_t b) const noexcept {
    const std::uint64_t s = a + b;
    return s - (s >= q_ ? q_ : 0);
  }
  std::uint64_t sub(std::uint64_t a, std::uint64_t b) const noexcept { return a - b + (a < b ? q_ : 0); }
  std::uint64_t neg(std::uint64_t a) const noexcept { return a == 0 ? 0 : q_ - a; }
  std::uint64_t mul(std::uint64_t a, std::uint64_t b) const noexcept { return reduce(static_cast<U128>(a) * b); }
  std::uint64_t pow(std::uint64_t base, std::uint64_t exponent) const noexcept;
  std::uint64_t inverse(std::uint64_t a) const noexcept { return pow(a, q_ - 2); }
  /// The centred representative, in [-(q-1)/2, (q-1)/2].
  std::int64_t centred(std::uint64_t a) const noexcept {
    return a > q_ / 2 ? static_cast<std::int64_t>(a) - static_cast<std::int64_t>(q_) : static_cast<std::int64_t>(a);
  }
  /// Any signed 64-bit integer to its residue.
  std::uint64_t from_signed(std::int64_t x) const noexcept {
    const std::uint64_t magnitude = x < 0 ? 0 - static_cast<std::uint64_t>(x) : static_cast<std::uint64_t>(x);
    const std::uint64_t r = reduce(magnitude);
    return x < 0 ? neg(r) : r;
  }

 private:
  std::uint64_t q_;
  std::uint64_t ratio_hi_;
  std::uint64_t ratio_lo_;
};

inline std::uint64_t Modulus::pow(std::uint64_t base, std::uint64_t exponent) const noexcept {
  std::uint64_t result = 1 % q_;
  for (; exponent != 0; exponent >>= 1) {
    if (exponent & 1) result = mul(result, base);
    base = mul(base, base);
  }
  return result;
}

}  // namespace lw
