#include "exec/linear_forms.hpp"

#include <algorithm>
#include <utility>

namespace lw {

LinearForm::LinearForm(Ciphertext x, std::int64_t factor) { terms_.push_back({std::move(x), factor, 0}); }

void LinearForm::negate() { turn(2); }

void LinearForm::turn(std::uint64_t times) {
  for (WeightedCiphertext& term : terms_) {
    for (std::uint64_t k = 0; k < times % 4; ++k) term = {std::move(term.x), -term.imaginary, term.real};
  }
}

void LinearForm::add(LinearForm other) {
  for (WeightedCiphertext& term : other.terms_) {
    const auto same = std::find_if(terms_.begin(), terms_.end(), [&](const WeightedCiphertext& mine) {
      return mine.x.residues == term.x.residues && fits_form(mine.real + term.real) &&
             fits_form(mine.imaginary + term.imaginary);
    });
    if (same == terms_.end()) {
      terms_.push_back(std::move(term));
    } else {
      same->real += term.real;
      same->imaginary += term.imaginary;
      same->x.is_unproved |= term.x.is_unproved;
    }
  }
}

Ciphertext LinearForm::value(const Evaluator& evaluator, double scale) && {
  return evaluator.weighted_sum(std::move(terms_), scale);
}

bool LinearForm::is_wasteful() const noexcept {
  const auto own = std::count_if(terms_.begin(), terms_.end(), [](const WeightedCiphertext& term) {
    return term.x.residues.use_count() == 1 && term.x.residues->is_sole_owner();
  });
  return own > 1;
}

LinearResults::LinearResults(const Plan& plan, std::uint32_t ring_degree, const std::vector<bool>& may_wait)
    : terms_(plan.num_registers()), is_kept_(plan.num_registers()) {
  // A form waits for its reader within a stretch of code without inner blocks: a state saved there holds ciphertexts.
  std::vector<std::uint32_t> waits_in(plan.num_registers());  // number of the stretch; 0: it does not wait
  std::uint32_t stretch = 0;
  for (const Block& block : plan.blocks()) {
    ++stretch;
    for (const Instruction& instruction : block.code) {
      if (info(instruction.op).num_blocks() > 0) ++stretch;
      const LinearRole role = linear_role(instruction, ring_degree);
      if (role == LinearRole::kNone) continue;
      const std::uint32_t out = instruction.out[0];
      const auto is_alike = [&](const Operand& operand) {
        return plan.type(operand.reg).count == plan.type(out).count;
      };
      if (!std::all_of(instruction.in.begin(), instruction.in.end(), is_alike)) continue;
      // It is kept where the one instruction that reads it is such an operation too, and the sum is not too long.
      std::uint32_t terms = 0;
      bool reads_form = false;
      for (const Operand& operand : instruction.in) {
        const bool is_form = waits_in[operand.reg] == stretch && role != LinearRole::kMultiplies;
        if (is_form && terms + terms_[operand.reg] + 1 <= kMostAliasedTerms) {
          is_kept_[operand.reg] = true;
          reads_form = true;
          terms += terms_[operand.reg];
        } else {
          terms += 1;
        }
      }
      if (!reads_form && role == LinearRole::kJoins) continue;
      terms_[out] = terms;
      if (may_wait[out]) waits_in[out] = stretch;
    }
  }
}

bool LinearResults::has_part_in(const Instruction& instruction) const noexcept {
  if (instruction.out.empty()) return false;
  const auto is_form = [&](const Operand& operand) { return is_kept(operand.reg); };
  return is_kept(instruction.out[0]) || std::any_of(instruction.in.begin(), instruction.in.end(), is_form);
}

}  // namespace lw
