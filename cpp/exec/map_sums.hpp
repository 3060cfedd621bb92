// The inner sums of a block map: sum g adds up plaintext * baby(x[u]) over its products.
#pragma once

#include <span>
#include <vector>

#include "exec/plan_constants.hpp"
#include "exec/run_state.hpp"
#include "rlwe/evaluator.hpp"

namespace lw {

/// Products of one input that are made together.
struct MapPass {
  std::vector<std::uint32_t> products;  // their numbers
  std::vector<std::size_t> keys;        // those that rotate its babies 1, 2, ...
  std::vector<std::uint32_t> sums;      // that they are added to
};

/// The passes of an input: its products in groups of up to `at_once`.
std::vector<MapPass> map_passes(std::span<const MapProduct> products, std::uint32_t input, std::size_t at_once);
/// The number of plaintexts for sums of this type the provider's budget holds; at least one.
std::size_t plaintexts_at_once(const Context& context, const PlaintextProvider& plaintexts, const ValueType& result);

/// Each of x, over Q with degree 1, is decomposed once, and given up after it has been read. Plaintexts are asked for
/// product by product; as many are held at once as the provider's budget allows. The sums are of type `result`: over
/// QP, or over Q without keys (null). Throws lw::Error(kFormat) for products that do not fit these numbers.
Ciphertexts map_sums(const Evaluator& evaluator, const Tick& tick, PlanConstants& constants, std::uint32_t constant,
                     Ciphertexts x, const SwitchKeys* keys, const ValueType& result);

}  // namespace lw
