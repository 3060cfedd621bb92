// The inner sums of a block map: sum g adds up plaintext * baby(x[u]) over its products.
#pragma once

#include <span>

#include "exec/executor.hpp"
#include "rlwe/evaluator.hpp"

namespace lw {

/// Each of x, over Q with degree 1, is decomposed once, and given up after it has been read. Plaintexts are asked for
/// product by product; as many are held at once as the provider's budget allows. The sums are of type `result`: over
/// QP, or over Q if there are no keys. Throws lw::Error(kFormat) for products that do not fit these numbers.
Ciphertexts map_sums(const Evaluator& evaluator, const Tick& tick, PlaintextProvider& plaintexts,
                     std::uint32_t constant, Ciphertexts x, std::span<const EvaluationKey* const> keys,
                     const ValueType& result);

}  // namespace lw
