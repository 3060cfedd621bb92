// Exact products of matrices of small integers and residues in doubles: how many products a sum takes.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>

#include "backend/accumulator.hpp"

namespace lw {

/// The largest magnitude of a weight of a matrix product: what every prime below 2^50 has room for.
constexpr std::int32_t kMostMatmulWeight = 1 << 24;

/// How residues x modulo q are multiplied: whole, or in two parts, x = x1 unit + x0, of which each has its own sums.
struct MatmulWay {
  std::size_t parts;  // 1 or 2: what a product costs, in fused multiply-adds
  std::size_t terms;  // products in one sum, at least 1; a longer one goes on from the residue of its first part
  double unit;        // a power of two
};

/// The way for weights of magnitude <= largest <= kMostMatmulWeight. A sum begins below 2 q in magnitude, and stays an
/// integer below 2^53. Few terms to a sum cost more than a second part does.
inline MatmulWay matmul_way(std::uint64_t q, std::int32_t largest) noexcept {
  constexpr std::size_t kFewTerms = 4;
  const double prime = static_cast<double>(q), weight = std::max(largest, 1), room = 0x1p53 - 2 * prime;
  const auto terms = [&](double residue) { return static_cast<std::size_t>(room / (residue * weight)); };
  const MatmulWay whole = {1, terms(kRestRange * prime), 1};
  if (whole.terms >= kFewTerms) return whole;
  const double unit = std::ldexp(1.0, (std::bit_width(q) + 1) / 2);
  return {2, terms(std::max(unit / 2, kRestRange * prime / unit + 0.5)), unit};
}

}  // namespace lw
