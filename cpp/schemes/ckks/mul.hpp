// The product of CKKS ciphertexts: what the rlwe evaluator does not know.
#pragma once

#include "rlwe/evaluator.hpp"

namespace lw::ckks {

/// Tensor product of two ciphertexts over Q at one level; degrees add up to at most kMaxCiphertextDegree, and scales
/// multiply.
Ciphertext mul(const Evaluator& evaluator, const Ciphertext& a, const Ciphertext& b);
/// mul(x, x).
Ciphertext square(const Evaluator& evaluator, const Ciphertext& x);
/// The sum of mul(a[i], b[i]) over at least one pair, no product stored by itself.
Ciphertext dot(const Evaluator& evaluator, std::span<const Ciphertext* const> a, std::span<const Ciphertext* const> b);

}  // namespace lw::ckks
