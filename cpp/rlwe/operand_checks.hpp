// Checks of the operands of the evaluator's operations, and their messages.
#pragma once

#include <cmath>
#include <string>

#include "math/error.hpp"
#include "rlwe/evaluator.hpp"

namespace lw {

[[noreturn]] inline void fail(ErrorKind kind, const char* op, const std::string& what) {
  throw Error(kind, std::string(op) + ": " + what);
}

inline std::string scale_text(double scale) { return "2^" + std::to_string(std::log2(scale)); }

inline const char* basis_text(Basis basis) { return basis == Basis::kQ ? "Q" : "QP"; }

inline void require_scale(double found, double wanted, const char* op) {
  if (!scales_match(found, wanted)) {
    fail(ErrorKind::kScale, op,
         "scales differ (" + scale_text(found) + " and " + scale_text(wanted) + "); rescale or relabel one of them");
  }
}

inline void require_same_place(Level a, Basis a_basis, Level b, Basis b_basis, const char* op) {
  if (a == b && a_basis == b_basis) return;
  fail(ErrorKind::kLevel, op,
       "operands are at " + to_string(a) + " over " + basis_text(a_basis) + " and " + to_string(b) + " over " +
           basis_text(b_basis) + "; bring both to one level first");
}

inline void require_encoding(Encoding a, Encoding b, const char* op) {
  if (a == b) return;
  fail(ErrorKind::kShape, op, "one operand holds slots, the other coefficients: encode both alike");
}

/// For what moves slots, or maps each: of coefficients it would be something else.
inline void require_slots(const Ciphertext& x, const char* op) {
  if (x.encoding == Encoding::kSlots) return;
  fail(ErrorKind::kShape, op,
       "the operand holds coefficients, of which there are only sums and products; encode slots");
}

inline void require_basis(const Ciphertext& x, Basis basis, const char* op) {
  if (x.basis != basis) {
    fail(ErrorKind::kShape, op,
         std::string("the operand is over ") + basis_text(x.basis) + ", not over " + basis_text(basis) +
             (basis == Basis::kQ ? "; mod_down it first" : ""));
  }
}

inline void require_degree(std::uint32_t degree, std::uint32_t low, std::uint32_t high, const char* op) {
  if (degree >= low && degree <= high) return;
  fail(ErrorKind::kShape, op,
       "the operand has degree " + std::to_string(degree) + ", not " + std::to_string(low) +
           (low == high ? "" : " to " + std::to_string(high)));
}

inline void require_downward(Level from, Level to, const Parameters& parameters, const char* op) {
  parameters.require_level(to);
  if (from.track != to.track || to.index > from.index) {
    fail(ErrorKind::kLevel, op, "there is no way down from " + to_string(from) + " to " + to_string(to));
  }
}

}  // namespace lw
