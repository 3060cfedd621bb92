// The product of CKKS ciphertexts: what the rlwe evaluator does not know.
#pragma once

#include "rlwe/evaluator.hpp"

namespace lw::ckks {

/// Tensor product of two ciphertexts of degree 1 over Q at one level: degree 2; scales multiply.
Ciphertext mul(const Evaluator& evaluator, const Ciphertext& a, const Ciphertext& b);
/// mul(x, x), cheaper.
Ciphertext square(const Evaluator& evaluator, const Ciphertext& x);

}  // namespace lw::ckks
