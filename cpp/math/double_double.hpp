// Double-double arithmetic: unevaluated sums of two float64, about 104 bits.
// Every operation is a fixed sequence of float64 operations and std::fma, so
// that results do not depend on the platform.
#pragma once

#include <cmath>
#include <cstdint>
#include <vector>

namespace lw {

/// hi + lo with |lo| <= ulp(hi) / 2: hi is the float64 nearest to the value.
struct DoubleDouble {
  double hi;
  double lo;
};

/// a + b exactly; needs |a| >= |b| or a == 0.
inline DoubleDouble quick_two_sum(double a, double b) noexcept {
  const double s = a + b;
  return {s, b - (s - a)};
}

/// a + b exactly.
inline DoubleDouble two_sum(double a, double b) noexcept {
  const double s = a + b;
  const double v = s - a;
  return {s, (a - (s - v)) + (b - v)};
}

/// a * b exactly.
inline DoubleDouble two_product(double a, double b) noexcept {
  const double p = a * b;
  return {p, std::fma(a, b, -p)};
}

/// Relative error below 2^-104 if no cancellation occurs.
inline DoubleDouble add(DoubleDouble a, DoubleDouble b) noexcept {
  const DoubleDouble high = two_sum(a.hi, b.hi);
  const DoubleDouble low = two_sum(a.lo, b.lo);
  const DoubleDouble sum = quick_two_sum(high.hi, high.lo + low.hi);
  return quick_two_sum(sum.hi, sum.lo + low.lo);
}

/// Relative error below 2^-102.
inline DoubleDouble mul(DoubleDouble a, DoubleDouble b) noexcept {
  const DoubleDouble p = two_product(a.hi, b.hi);
  return quick_two_sum(p.hi, p.lo + std::fma(a.hi, b.lo, a.lo * b.hi));
}

/// Relative error below 2^-102.
inline DoubleDouble div(DoubleDouble a, double b) noexcept {
  const double q = a.hi / b;
  return quick_two_sum(q, (std::fma(-q, b, a.hi) + a.lo) / b);
}

/// cos and sin of one angle, each the float64 nearest to the true value.
struct CosSin {
  double cos;
  double sin;
};

/// cos and sin of 2*pi*k/m, for m a power of two between 8 and 2^32. Computed to a relative 2^-100; for m <= 2^19 no
/// value lies within a relative 2^-70 of the middle between two float64, so that the rounding is proven there.
CosSin cos_sin_turn(std::uint64_t k, std::uint64_t m) noexcept;
/// The same for every k < m.
std::vector<CosSin> cos_sin_turns(std::uint64_t m);

}  // namespace lw
