// Linear combinations of ciphertexts that are computed in one pass.
//
// Plans write a combination as products with integers and with X^(N/2), and sums. By itself each of them would read
// and write whole ciphertexts, and a pass over memory is all that such an operation costs. So a result that is only one
// more term of a sum is kept as a form, and the last sum computes all its terms. No bit depends on it: these are exact
// operations modulo primes.
#pragma once

#include <cstdint>
#include <vector>

#include "exec/plan.hpp"
#include "rlwe/evaluator.hpp"

namespace lw {

/// Whether a factor may stand in a form: no sum of two overflows.
constexpr bool fits_form(std::int64_t factor) noexcept {
  return factor >= -(std::int64_t{1} << 61) && factor <= std::int64_t{1} << 61;
}

/// What an instruction does with forms: begins one with a ciphertext; begins one or turns it; joins others.
enum class LinearRole { kNone, kMultiplies, kTurns, kJoins };
/// In instruction_work.cpp, beside what the instructions do.
LinearRole linear_role(const Instruction& instruction, std::uint32_t ring_degree) noexcept;

/// The sum of a few ciphertexts times integers and powers of X^(N/2).
class LinearForm {
 public:
  explicit LinearForm(Ciphertext x, std::int64_t factor = 1);

  void negate();
  /// Multiplies by X^(N/2), so many times.
  void turn(std::uint64_t times);
  void add(LinearForm other);
  /// Computes it; `scale` is the label of the result. Nothing is left of it.
  Ciphertext value(const Evaluator& evaluator, double scale) &&;
  /// Whether it alone keeps more than one ciphertext in memory, where its value would be one.
  bool is_wasteful() const noexcept;

 private:
  std::vector<WeightedCiphertext> terms_;
};

/// What instructions of a plan do with forms.
class LinearResults {
 public:
  /// may_wait: registers that are read once, and whose values nobody asks for.
  LinearResults(const Plan& plan, std::uint32_t ring_degree, const std::vector<bool>& may_wait);

  /// Whether the result is kept as forms.
  bool is_kept(std::uint32_t reg) const noexcept { return terms_[reg] > 0 && is_kept_[reg]; }
  /// Whether an instruction with this result keeps it as forms, or reads some.
  bool has_part_in(const Instruction& instruction) const noexcept;

 private:
  std::vector<std::uint32_t> terms_;  // of the form that a result is, kept or computed; 0 for other results
  std::vector<bool> is_kept_;
};

}  // namespace lw
