#include "exec/plan_constants.hpp"

#include <set>
#include <tuple>

namespace lw {

std::vector<Plaintext> PlanConstants::acquire(std::uint32_t constant, std::optional<std::uint32_t> product,
                                              const ValueType& type) {
  if (recorded_ != nullptr) {
    const PlaintextProvider::Kept kept = provider_.keep(constant, product, type);
    if (hold(kept)) return kept.whole.empty() ? provider_.lift(kept.coefficients, type) : kept.whole;
    give_up_();
    *recorded_ = {};
    recorded_ = nullptr;
  }
  return provider_.acquire(constant, product, type);
}

/// Whether it stays for replays. Plaintexts that had to make way since are out of the budget, though they are held.
bool PlanConstants::hold(const PlaintextProvider::Kept& kept) {
  for (const auto& vector : kept.coefficients) {
    if (known_.insert(vector.get()).second) recorded_->coefficients.push_back(vector);
  }
  for (const Plaintext& plaintext : kept.whole) {
    if (!known_.insert(plaintext.rows.get()).second) continue;
    whole_bytes_ += plaintext.num_bytes();
    recorded_->whole.push_back(plaintext);
  }
  const bool is_kept = !kept.whole.empty() || !kept.coefficients.empty();
  return is_kept && provider_.cached_coefficient_bytes() + whole_bytes_ <= provider_.budget_bytes();
}

std::size_t all_coefficient_bytes(const Plan& plan, const PlaintextProvider& provider) {
  std::set<std::tuple<std::int64_t, std::uint32_t, std::uint32_t, double>> known;
  std::size_t total = 0;
  const auto add = [&](std::int64_t constant, const ValueType& type) {
    return known.emplace(constant, type.slots, type.count, type.scale).second ? provider.coefficient_bytes(type) : 0;
  };
  for (const Block& block : plan.blocks()) {
    for (const Instruction& instruction : block.code) {
      if (instruction.op == Opcode::kEncode) total += add(instruction.imm[0], plan.type(instruction.out[0]));
      if (instruction.op == Opcode::kEncodeAt) {
        for (const std::int64_t constant : instruction.imm) total += add(constant, plan.type(instruction.out[0]));
      }
      if (instruction.op != Opcode::kMapSums) continue;
      ValueType type = plan.type(instruction.out[0]);
      type.count = 1;
      total += add(instruction.imm[0], type) * provider.products(static_cast<std::uint32_t>(instruction.imm[0])).size();
    }
  }
  return total;
}

}  // namespace lw
