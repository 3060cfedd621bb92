// Hybrid key switching in its separate steps, on rows. hoist = decompose + mod_up, done once for many
// rotations of one value; key_product = inner_product (and what goes around it); mod_down ends.
#pragma once

#include "rlwe/keys.hpp"

namespace lw {

/// The same polynomials in coefficient form: what digits are cut from.
PolyRows decompose(const Ring& ring, ConstRows x);

/// Digits of a polynomial over the Q basis of `level`, extended to QP by centred lifts, NTT form:
/// [digit][P limbs, then Q limbs ascending]. `ntt` and `coefficients` are the two forms of the same polynomial.
PolyRows mod_up(const Context& context, Level level, ConstRows ntt, ConstRows coefficients, const Tick& tick);

/// sum over digits of digit * (b, a): two polys over QP of the level. The key covers that basis.
PolyRows inner_product(const Context& context, const PolyRows& digits, std::span<const std::uint32_t> digit_numbers,
                       const EvaluationKey& key, const Tick& tick);

/// (x - lift_D x) / D, rounded to nearest: D = limbs of x that are not in `to`, removed at once by one centred lift.
PolyRows mod_down(const Ring& ring, const PolyRows& x, const LimbList& to);

/// Copies whole rows between values of one ring; the limbs of `to` must all be in `from`.
void copy_limbs(const Ring& ring, PolyRows& to, std::uint32_t to_poly, const PolyRows& from, std::uint32_t from_poly);

}  // namespace lw
