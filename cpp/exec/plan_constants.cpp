#include "exec/plan_constants.hpp"

#include <set>
#include <tuple>

namespace lw {

std::vector<Plaintext> PlanConstants::acquire(std::uint32_t constant, std::optional<std::uint32_t> product,
                                              const ValueType& type, bool for_sums) {
  if (recorded_ != nullptr) {
    const PlaintextProvider::Kept kept = provider_.keep(constant, product, type);
    if (hold(kept)) return kept.whole.empty() ? provider_.lift(kept.coefficients, type) : kept.whole;
    give_up_();
    *recorded_ = {};
    recorded_ = nullptr;
  }
  return provider_.acquire(constant, product, type, for_sums);
}

/// Whether it stays for replays. Plaintexts that had to make way since are out of the budget, though they are held.
bool PlanConstants::hold(const PlaintextProvider::Kept& kept) {
  for (const auto& vector : kept.coefficients) {
    if (known_.insert(vector.get()).second) recorded_->coefficients.push_back(vector);
  }
  for (const Plaintext& plaintext : kept.whole) {
    if (!known_.insert(plaintext.residues.get()).second) continue;
    whole_bytes_ += plaintext.num_bytes();
    recorded_->whole.push_back(plaintext);
  }
  const bool is_kept = !kept.whole.empty() || !kept.coefficients.empty();
  return is_kept && provider_.cached_coefficient_bytes() + whole_bytes_ <= provider_.budget_bytes();
}

void for_each_constant(const Plan& plan, const PlaintextProvider& provider, const ConstantVisitor& visit) {
  for (const Block& block : plan.blocks()) {
    for (const Instruction& instruction : block.code) {
      for (std::size_t i = 0; i < instruction.imm.size(); ++i) {
        const char kind = info(instruction.op).immediate_kind(i);
        const auto constant = static_cast<std::uint32_t>(instruction.imm[i]);
        if (kind == 'v') visit(constant, std::nullopt, plan.type(instruction.out[0]));
        if (kind != 'm') continue;
        const ValueType factor = map_factor(plan.type(instruction.out[0]), plan.type(instruction.in[0].reg).scale);
        const std::size_t products = provider.products(constant).size();
        for (std::uint32_t p = 0; p < products; ++p) visit(constant, p, factor);
      }
    }
  }
}

ValueType map_factor(ValueType result, double scale) {
  result.kind = TypeKind::kPlain;
  result.scale /= scale;
  result.count = 1;
  return result;
}

std::size_t all_coefficient_bytes(const Plan& plan, const PlaintextProvider& provider) {
  std::set<std::tuple<std::uint32_t, std::optional<std::uint32_t>, std::uint32_t, std::uint32_t, double>> known;
  std::size_t total = 0;
  for_each_constant(plan, provider, [&](std::uint32_t constant, std::optional<std::uint32_t> product, ValueType type) {
    const bool is_new = known.emplace(constant, product, type.slots, type.count, type.scale).second;
    if (is_new) total += provider.coefficient_bytes(type);
  });
  return total;
}

}  // namespace lw
