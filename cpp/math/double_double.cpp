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

/// Where an angle of k steps of 1/m of a turn lies. Integers bring it into [0, pi/4] exactly: first the quadrant, then
/// the mirror at pi/4.
struct OctantPlace {
  std::uint64_t quadrant, step;
  bool mirrored;
};

OctantPlace place_of(std::uint64_t k, std::uint64_t m) noexcept {
  k &= m - 1;
  const std::uint64_t quarter = m / 4, step = k % quarter;
  const bool mirrored = step > m / 8;
  return {k / quarter, mirrored ? quarter - step : step, mirrored};
}

/// cos and sin in the first octant: step <= m / 8.
CosSin first_octant(std::uint64_t step, std::uint64_t m) noexcept {
  const DoubleDouble fraction = {static_cast<double>(step) / static_cast<double>(m), 0.0};
  const DoubleDouble x = mul(kTwoPi, fraction);
  const DoubleDouble square = mul(x, x);
  return {alternating_series({1.0, 0.0}, square, 0).hi, alternating_series(x, square, 1).hi};
}

/// Those of the angle, from those of its step in the first octant.
CosSin turned(CosSin octant, const OctantPlace& place) noexcept {
  if (place.mirrored) std::swap(octant.cos, octant.sin);
  const auto [cosine, sine] = octant;
  switch (place.quadrant) {
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

}  // namespace

CosSin cos_sin_turn(std::uint64_t k, std::uint64_t m) noexcept {
  const OctantPlace place = place_of(k, m);
  return turned(first_octant(place.step, m), place);
}

std::vector<CosSin> cos_sin_turns(std::uint64_t m) {
  std::vector<CosSin> octant(m / 8 + 1), all(m);
  for (std::uint64_t step = 0; step < octant.size(); ++step) octant[step] = first_octant(step, m);
  for (std::uint64_t k = 0; k < m; ++k) {
    const OctantPlace place = place_of(k, m);
    all[k] = turned(octant[place.step], place);
  }
  return all;
}

}  // namespace lw
