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
              const Observers& observers);

  std::vector<Ciphertext> run(std::vector<Input> inputs);

 private:
  /// What a register holds; all handles, so that a copy copies no rows.
  using Value = std::variant<std::monostate, std::int64_t, Ciphertext, Plaintext, Digits, KeyLease>;
  using Values = std::vector<Value>;

  Values run_block(std::uint32_t block, Values args);
  Values execute(const Instruction& instruction);
  Values run_for(const Instruction& instruction);
  Values run_if(const Instruction& instruction);
  Values run_diag_sums(const Instruction& instruction);
  Value evaluate(const Instruction& instruction);
  Value evaluate_key_switch(const Instruction& instruction);
  std::int64_t evaluate_index(const Instruction& instruction) const;
  /// The operands from place `from` on; the last uses among them leave their registers.
  Values take(const Instruction& instruction, std::size_t from);
  void define(std::uint32_t reg, Value value);
  void release(const Instruction& instruction);
  void report(std::uint32_t block, std::uint32_t instruction, std::uint64_t start_ns) const;

  /// The first operand, which leaves its register if nothing reads it after this: its rows may then become the
  /// result's.
  Ciphertext spend(const Instruction& instruction);
  const Ciphertext& cipher(const Operand& operand) const { return std::get<Ciphertext>(registers_[operand.reg]); }
  const Plaintext& plain(const Operand& operand) const { return std::get<Plaintext>(registers_[operand.reg]); }
  const EvaluationKey& key(const Operand& operand) const { return *std::get<KeyLease>(registers_[operand.reg]); }
  std::int64_t index(const Operand& operand) const { return std::get<std::int64_t>(registers_[operand.reg]); }

  const Plan& plan_;
  KeyProvider& keys_;
  PlaintextProvider& plaintexts_;
  const Observers& observers_;
  Evaluator evaluator_;
  std::vector<Value> registers_;
  std::vector<bool> is_watched_;
  std::vector<bool> is_read_once_;  // read once and last used there, hence not inside a loop that it is outside of
};

}  // namespace lw
