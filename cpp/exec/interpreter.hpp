// The loop that executes checked code: one object per run.
#pragma once

#include <variant>
#include <vector>

#include "exec/executor.hpp"
#include "rlwe/evaluator.hpp"

namespace lw {

class Interpreter {
 public:
  Interpreter(const Context& context, const Plan& plan, KeyProvider& keys, PlaintextProvider& plaintexts,
              const Observers& observers, const KeyOrders& key_orders);

  std::vector<Ciphertexts> run(std::vector<Input> inputs);

 private:
  /// What a register holds; arrays of handles, so that a copy copies no rows.
  using RegisterValue =
      std::variant<std::monostate, std::int64_t, Ciphertexts, std::vector<Plaintext>, std::vector<Digits>, KeyLease>;
  using RegisterValues = std::vector<RegisterValue>;

  RegisterValues run_block(std::uint32_t block, RegisterValues args);
  void prefetch_keys(std::uint32_t block);
  RegisterValues execute(const Instruction& instruction);
  RegisterValues run_for(const Instruction& instruction);
  RegisterValues run_if(const Instruction& instruction);
  RegisterValues run_call(const Instruction& instruction);
  RegisterValues run_diag_sums(const Instruction& instruction);
  RegisterValue evaluate(const Instruction& instruction);
  Ciphertexts evaluate_array(const Instruction& instruction);
  Ciphertexts evaluate_key_switch(const Instruction& instruction);
  std::int64_t evaluate_index(const Instruction& instruction) const;
  /// The operands from place `from` on; the last uses among them leave their registers.
  RegisterValues take(const Instruction& instruction, std::size_t from);
  void define(std::uint32_t reg, RegisterValue value);
  void release(const Instruction& instruction);
  void report(std::uint32_t block, std::uint32_t instruction, std::uint64_t start_ns) const;

  /// An operand, which leaves its register if nothing reads it after this: its rows may then become the result's.
  template <class T = Ciphertext>
  std::vector<T> spend(const Instruction& instruction, std::size_t operand = 0);
  /// function(ciphertext, i) for each of the first operand, which is given up one by one where it is spent, and of as
  /// many as the result has, where one meets an array.
  template <class Function>
  auto each(const Instruction& instruction, const Function& function);
  Ciphertexts sums(const Instruction& instruction);
  Ciphertexts take_at(const Instruction& instruction);
  Ciphertexts put_at(const Instruction& instruction);
  /// A run-time integer that numbers one of so many; throws kRange.
  std::size_t part(const Operand& number, std::size_t count) const;
  Ciphertexts dots(const Instruction& instruction);
  Ciphertexts run_map_sums(const Instruction& instruction);

  /// Number i of an array, or the one that meets each of another.
  template <class T>
  const T& at(const Operand& operand, std::size_t i) const {
    const std::vector<T>& array = std::get<std::vector<T>>(registers_[operand.reg]);
    return array[array.size() == 1 ? 0 : i];
  }
  const Ciphertext& cipher(const Operand& operand, std::size_t i) const { return at<Ciphertext>(operand, i); }
  const Plaintext& plain(const Operand& operand, std::size_t i) const { return at<Plaintext>(operand, i); }
  const EvaluationKey& key(const Operand& operand) const { return *std::get<KeyLease>(registers_[operand.reg]); }
  std::int64_t index(const Operand& operand) const { return std::get<std::int64_t>(registers_[operand.reg]); }

  const Plan& plan_;
  KeyProvider& keys_;
  PlaintextProvider& plaintexts_;
  const Observers& observers_;
  const KeyOrders& key_orders_;
  Evaluator evaluator_;
  std::unique_ptr<const Scheme> scheme_;
  std::vector<RegisterValue> registers_;
  std::vector<bool> is_watched_;
  std::vector<bool> is_read_once_;  // read once and last used there, hence not inside a loop that it is outside of
};

}  // namespace lw
