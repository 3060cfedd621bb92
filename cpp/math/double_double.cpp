#include "math/double_double.hpp"

#include <utility>

namespace lw {
namespace {

constexpr DoubleDouble kTwoPi = {0x1.921fb54442d18p+2, 0x1.1a62633145c07p-52};

// Taylor series of the terms x^first, x^(first+2), ...; the terms left out at
// x <= pi/4 are below 2^-107.
DoubleDouble alternating_series(DoubleDouble term, DoubleDouble square, int first) noexcept {
  constexpr int kLastPower = 28;
  DoubleDouble sum = term;
  for (int power = first + 2; power <= kLastPower; power += 2) {
    const DoubleDouble next = div(mul(term, square), static_cast<double>((power - 1) * power));
    term = {-next.hi, -next.lo};
    sum = add(sum, term);
  }
  return sum;
}

}  // namespace

CosSin cos_sin_turn(std::uint64_t k, std::uint64_t m) noexcept {
  // Integers bring the angle into [0, pi/4] exactly: first the quadrant, then the mirror at pi/4.
  k &= m - 1;
  const std::uint64_t quarter = m / 4;
  const std::uint64_t quadrant = k / quarter;
  std::uint64_t octant_step = k % quarter;
  const bool mirrored = octant_step > m / 8;
  if (mirrored) octant_step = quarter - octant_step;

  const DoubleDouble fraction = {static_cast<double>(octant_step) / static_cast<double>(m), 0.0};
  const DoubleDouble x = mul(kTwoPi, fraction);
  const DoubleDouble square = mul(x, x);
  double cosine = alternating_series({1.0, 0.0}, square, 0).hi;
  double sine = alternating_series(x, square, 1).hi;
  if (mirrored) std::swap(cosine, sine);

  switch (quadrant) {
    case 0:
      return {cosine, sine};
    case 1:
      return {0.0 - sine, cosine};
    case 2:
      return {0.0 - cosine, 0.0 - sine};
    default:
      return {sine, 0.0 - cosine};
  }
}

}  // namespace lw
