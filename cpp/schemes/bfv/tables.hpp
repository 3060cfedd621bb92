// Base conversions that multiply and divide on the way: the constants of BFV's encoding and products.
#pragma once

#include "rlwe/context.hpp"

namespace lw::bfv {

/// Throws lw::Error(kParameterMismatch), naming `who`, for CKKS parameters.
void require_bfv(const Parameters& parameters, const char* who);

/// Base conversion from D to T of before * x, times `after`: the table holds constants for both, so that neither costs
/// anything. before: one residue per D limb (ascending), after: one per T limb.
/// With after = -1/D this is round(before * x / D), wherever `before` is 0 modulo T.
BaseConversionTable scaled_conversion(const Ring& ring, const LimbList& from, const LimbList& to,
                                      const std::vector<Word>& before, const std::vector<Word>& after);

/// round(before * x / D) modulo T, where T divides the integer `before`.
BaseConversionTable rounded_quotient(const Ring& ring, const LimbList& from, const LimbList& to,
                                     const std::vector<Word>& before);

/// Constants for products of ciphertexts at one level. The extension basis is B, the plaintext modulus t.
struct ProductTables {
  ProductTables(const Context& context, Level level);

  LimbList q, b;
  LimbList pb;                      // P limbs, then B limbs
  BaseConversionTable extend;       // Q -> B: x
  BaseConversionTable shrink;       // Q -> B: round(B/Q * x)
  BaseConversionTable back;         // B -> Q: t/B * x
  BaseConversionTable divide;       // B -> Q: [t * x] / B
  BaseConversionTable divide_both;  // PB -> Q: [P*t*x on B, B*x on P] / B
  std::vector<Word> one;            // modulo the Q limbs
  std::vector<Word> special_inverse;
};

}  // namespace lw::bfv
