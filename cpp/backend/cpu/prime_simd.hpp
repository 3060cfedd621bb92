// Products modulo one prime, in every word of a SIMD vector of type V (vectors_*.hpp). Like every file *_simd.hpp it is
// only for files named for an instruction set: the anonymous namespace keeps each one's copy its own, compiled as that
// file is.
#pragma once

#include "backend/cpu/prime.hpp"

namespace lw::cpu {
namespace {

/// One prime, broadcast, with the two ways of getting small residues. Error bounds: tools/prove_ranges.py.
template <class V>
struct PrimeVectors {
  using F64 = typename V::F64;
  F64 q, inverse;

  explicit PrimeVectors(const Prime& p) noexcept : q(V::set(p.q)), inverse(V::set(p.inverse)) {}

  /// A small residue of an integer |x| < 2^53.
  F64 reduce(F64 x) const noexcept { return V::fnma(V::round(V::mul(x, inverse)), q, x); }
  /// A small residue of a * b + c - c' q, where c' = rint(fl(a b) / q): for |a b| < 2^100 and |c| < q.
  F64 product(F64 a, F64 b) const noexcept {
    const F64 high = V::mul(a, b);
    const F64 quotient = V::round(V::mul(high, inverse));
    return V::add_rest(a, b, high, V::fnma(quotient, q, high));
  }
  /// The same for a factor w that comes with w_over_q = fl(w / q): a shorter chain of operations.
  F64 product(F64 x, F64 w, F64 w_over_q) const noexcept {
    const F64 high = V::mul(x, w);
    const F64 quotient = V::round(V::mul(x, w_over_q));
    return V::add_rest(x, w, high, V::fnma(quotient, q, high));
  }
};

}  // namespace
}  // namespace lw::cpu
