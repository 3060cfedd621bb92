// Exact sums of products in doubles, and the number of terms that stays exact.
//
// A sum is a high and a low double. The high one starts at 3/2 2^(52+k), so that adding a product to it by fma rounds
// the product to a multiple of 2^k, which a subtraction recovers exactly; an fma gives the rest of the product, at most
// 2^(k-1), which is added to the low one. One quotient serves the whole sum. With S the sum, C the start, H = high - C:
// the quotient is c = rint(fl(fl(H + low) fl(1/q))), and S - c q = (H - c q) + low. tools/prove_ranges.py checks that
// everything stays exact under the limits below.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>

namespace lw {

struct Accumulator {
  double start;       // 3/2 2^(52+k)
  std::size_t terms;  // most products in one sum, at least 1; a longer one goes on from the residue of its first part
  bool rough;         // the quotient may be off by more than 1/16: reduce once more
};

constexpr std::size_t kMostTerms = 256;
constexpr double kRestRange = 11.0 / 16.0;  // of residues at rest, in units of q; cpu/prime.hpp

/// Makes the accumulator for sums of `wanted` products of magnitude <= `product`, modulo q, that begin at a value of
/// magnitude <= `initial`.
inline Accumulator make_accumulator(std::size_t wanted, double product, double initial, double q) noexcept {
  // Low sum + initial + |S - c q| <= 2^53, where |S - c q| <= 2.01 q as |S| <= 2^52 q.
  const double low_room = 0x1p53 - std::max(initial, kRestRange * q) - 2.01 * q;
  const double by_quotient = 0x1p52 * q / product - 1;
  Accumulator best = {0, 0, true};
  int k = std::max(0, std::ilogb(product) - 51);
  for (; k <= 53; ++k) {
    const double unit = std::ldexp(1.0, k);
    const double by_high = 0x1p51 * unit / (product + unit / 2);
    const double by_low = k == 0 ? by_high : low_room / (unit / 2);
    const double room = std::min({by_high, by_low, by_quotient, static_cast<double>(kMostTerms)});
    const auto terms = static_cast<std::size_t>(std::max(room, 0.0));
    if (terms > best.terms) best = {0x1.8p52 * unit, terms, true};
    if (best.terms >= wanted || by_low < by_high) break;
  }
  const double sum = product * static_cast<double>(std::min(best.terms, wanted)) + low_room;
  best.rough = sum / q * 0x1.8p-52 > 1.0 / 17.0;
  return best;
}

/// The same for products of residues at rest.
inline Accumulator product_accumulator(std::size_t wanted, double q) noexcept {
  const double largest = (q < 0x1p49 ? 9.0 / 16.0 : 11.0 / 16.0) * q;
  return make_accumulator(wanted, largest * largest, 0, q);
}

}  // namespace lw
